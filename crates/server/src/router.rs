//! All routes behind their layers.

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, MatchedPath, Request},
    http::{HeaderName, HeaderValue, header::AUTHORIZATION},
    middleware::{from_fn, from_fn_with_state, map_response},
};
use entourage_engine::Engine;
use tokio_util::sync::CancellationToken;
use tower::{ServiceBuilder, util::MapRequestLayer};
use tower_http::{
    catch_panic::CatchPanicLayer,
    compression::CompressionLayer,
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer},
    sensitive_headers::SetSensitiveRequestHeadersLayer,
    trace::TraceLayer,
};
use tracing::field::Empty;
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::router::OpenApiRouter;

use crate::{
    Auth, Installation, Result, Settings,
    accounts::Accounts,
    active_request::stranger,
    auth::{Bearer, Seal, bearer, guard, stream_token},
    bodies::{Bodies, bounded},
    compression::LargeResponses,
    connections::Limits,
    console::{self, Logins},
    metrics::measure,
    problem::{method_not_allowed, no_route, panicked, with_detail},
    routes::{
        Routes, accounts, api_router::ApiRouter, chats, document_agent, explorer, goals, openapi, operations,
        v1, webhook,
    },
    state::AppState,
    streams::Streams,
    webhook::Senders,
};

/// The header with a request's id, which its response and the log repeat.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id that a client may give its request, in bytes: each line of the log repeats it.
const LONGEST_ID: usize = 128;

/// The description of all routes.
pub(crate) fn described() -> OpenApi {
    let groups = [
        webhook::ROUTES,
        accounts::ROUTES,
        v1::ROUTES,
        chats::ROUTES,
        goals::ROUTES,
        explorer::ROUTES,
        document_agent::ROUTES,
    ];
    let all = all(&[operations::routes, operations::measured]).merge(all(&groups.concat()));
    all.describe(OpenApiRouter::with_openapi(openapi::Description::openapi())).into_openapi()
}

fn all(routes: &[Routes]) -> ApiRouter {
    routes.iter().fold(ApiRouter::new(), |all, routes| all.merge(routes()))
}

fn served(routes: &[Routes]) -> Router<AppState> {
    all(routes).into_served()
}

/// Returns all routes of an engine, as a service without a listener. Once `shutdown` is cancelled, streams
/// end.
///
/// # Errors
/// [`Error::Key`](crate::Error::Key), [`Error::NoAudience`](crate::Error::NoAudience) or
/// [`Error::EmptyAudience`](crate::Error::EmptyAudience) if [`Settings::auth`] cannot be used,
/// [`Error::Webhook`](crate::Error::Webhook) if a secret of [`Settings::webhooks`] cannot, and
/// [`Error::Registration`](crate::Error::Registration) if [`Settings::registration`] is set and cannot be.
pub fn router(engine: Engine, settings: &Settings, shutdown: CancellationToken) -> Result<Router> {
    router_of(engine, settings, None, shutdown)
}

/// The same for a program that tells its operator about itself.
pub(crate) fn router_of(
    engine: Engine,
    settings: &Settings,
    installation: Option<Arc<dyn Installation>>,
    shutdown: CancellationToken,
) -> Result<Router> {
    let senders = Senders::new(&settings.webhooks)?;
    let streams = Streams::new(settings.streams, Limits::new(settings.connections));
    let (heartbeat, seal) = (settings.heartbeat, Seal::new(&settings.auth));
    let accounts = Accounts::new(settings)?.map(Arc::new);
    let (bearer_state, logins) = (Bearer::new(&settings.auth)?, Arc::new(Logins::new()));
    let state = AppState {
        engine,
        senders,
        accounts,
        installation,
        heartbeat,
        streams,
        bearer: bearer_state.clone(),
        seal,
        logins,
        shutdown,
    };
    let known = [v1::ROUTES, chats::ROUTES, goals::ROUTES, explorer::ROUTES].concat();
    let (mut known, mut open) = (served(&known), served(webhook::ROUTES));
    if settings.metrics_need_token {
        known = known.merge(served(&[operations::measured]));
    } else {
        open = open.merge(served(&[operations::measured]));
    }
    let probes = served(&[operations::routes]);
    let bodies = from_fn_with_state(Bodies::new(settings.body_limit, settings.body_timeout), bounded);
    let guarded = |routes: Router<AppState>| {
        let bearer = from_fn_with_state(bearer_state.clone(), bearer);
        let stream_token = from_fn_with_state(state.clone(), stream_token);
        routes.layer(bodies.clone()).layer(bearer).layer(stream_token)
    };
    let unguarded = |routes: Router<AppState>| routes.layer(bodies.clone()).layer(from_fn(stranger));
    let pages = console::with_login(console::pages(), &state, guarded);
    let pages = console::as_pages(pages.merge(unguarded(console::open())));
    let mut native = guarded(known)
        .merge(unguarded(open.merge(openapi::routes())))
        .merge(pages)
        // Probes are answered even if there are too many connections.
        .merge(probes)
        .fallback(no_route)
        .method_not_allowed_fallback(method_not_allowed);
    let mut detailed = guarded(served(document_agent::ROUTES))
        .merge(unguarded(served(accounts::ROUTES)))
        .method_not_allowed_fallback(method_not_allowed);
    if matches!(settings.auth, Auth::None) {
        native = native.layer(from_fn(guard)).layer(from_fn(console::refused));
        detailed = detailed.layer(from_fn(guard));
    }
    let routes = native
        .merge(detailed.layer(map_response(with_detail)))
        // `bounded` is the limit.
        .layer(DefaultBodyLimit::disable());
    let layers = ServiceBuilder::new()
        .layer(SetSensitiveRequestHeadersLayer::new([AUTHORIZATION]))
        .layer(MapRequestLayer::new(short_id))
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .layer(TraceLayer::new_for_http().make_span_with(span))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(from_fn(measure))
        .layer(CompressionLayer::new().compress_when(LargeResponses::default()))
        .layer(CatchPanicLayer::custom(panicked));
    Ok(routes.layer(layers).with_state(state))
}

/// Checks that people can register, where the settings say that they may.
///
/// # Errors
/// [`Error::Registration`](crate::Error::Registration): a server does not start with such settings.
pub fn check_registration(settings: &Settings) -> Result<()> {
    Accounts::new(settings).map(drop)
}

/// Removes a request id that is too long or not text; the request then gets a new one.
fn short_id(mut request: Request) -> Request {
    let is_short = |id: &HeaderValue| id.len() <= LONGEST_ID && id.to_str().is_ok();
    if !request.headers().get(REQUEST_ID).is_some_and(is_short) {
        request.headers_mut().remove(REQUEST_ID);
    }
    request
}

/// The span of a request: its route, but not its query or body, which may hold what people wrote.
fn span(request: &Request) -> tracing::Span {
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let request_id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok());
    tracing::info_span!("request", method = %request.method(), route, request_id, id = Empty)
}
