//! The web console: pages that show what the API shows, and forms that do what it does.
//!
//! A page calls the handlers of `/v1` and renders the documents that they return, so that what it shows can be read
//! there, too, and every rule of the API holds. Each page is one template and one file here. Its live part is served
//! alone below `/console/f`, from the same template, and `live.js` asks for it when a hint says that something changed.

mod act;
mod agencies;
mod agent;
mod arguments;
pub(crate) mod assets;
mod budget;
mod chats;
mod choices;
mod concerned;
mod documents;
mod edit;
mod events;
mod exact;
mod feed;
#[allow(unreachable_pub, reason = "what makes a filter of a function writes it so")]
mod filters;
mod given;
mod goals;
mod grants;
mod headers;
mod hold;
mod id;
mod inbox;
mod kinds;
mod level;
mod live;
mod login;
mod logins;
#[allow(unreachable_pub, reason = "what makes a filter of a function writes it so")]
mod markdown;
mod memory;
mod named;
mod origin;
mod past;
mod place;
mod problems;
mod reason;
mod request;
mod run;
mod runs;
mod schedules;
mod server;
mod shared;
mod shell;
mod tasks;
mod tree;
mod trees;
mod usage;
mod webhooks;

use axum::{
    Router,
    http::{Extensions, HeaderMap, StatusCode, Version},
    middleware::{from_fn, from_fn_with_state, map_response},
    response::Redirect,
    routing::{MethodRouter, get, post},
};
use tower_http::compression::{CompressionLayer, Predicate as _};

use crate::{compression::LargeResponses, problem::method_not_allowed, state::AppState};

pub(crate) use logins::Logins;
pub(crate) use problems::refused;
use shared::Shared;

/// The pages, each of which can be asked for whole or without what surrounds its live part.
fn shown() -> [(&'static str, MethodRouter<AppState>); 33] {
    [
        ("/", get(inbox::open)),
        ("/answered", get(inbox::closed)),
        ("/grants", get(grants::show)),
        ("/q/{id}", get(inbox::one)),
        ("/chats", get(chats::all)),
        ("/chats/{id}", get(chats::one)),
        ("/trees", get(trees::show)),
        ("/trees/{id}", get(tree::show)),
        ("/agents/{id}", get(agent::show)),
        ("/trees/{id}/events", get(events::show)),
        ("/agencies", get(agencies::all)),
        ("/agencies/{name}", get(agencies::one)),
        ("/goals", get(goals::all)),
        ("/goals/{id}", get(goals::one)),
        ("/tasks", get(tasks::show)),
        ("/feed", get(feed::show)),
        ("/documents", get(documents::all)),
        ("/documents/{id}", get(documents::document)),
        ("/projects/{id}", get(documents::project)),
        ("/memory", get(memory::show)),
        ("/usage", get(usage::show)),
        ("/kinds", get(kinds::all)),
        ("/kinds/{name}", get(kinds::one)),
        ("/kinds/{name}/{version}", get(kinds::version)),
        ("/server", get(server::health)),
        ("/schedules", get(schedules::show)),
        ("/webhooks", get(webhooks::all)),
        ("/webhooks/{name}", get(webhooks::one)),
        ("/server/doctor", get(server::doctor)),
        ("/server/settings", get(server::settings)),
        ("/runs", get(runs::show)),
        ("/runs/{id}", get(run::show)),
        ("/runs/{id}/requests/{n}", get(request::show)),
    ]
}

/// The routes of all pages.
fn routed() -> Router<AppState> {
    shown().into_iter().fold(Router::new(), |routes, (path, page)| routes.route(path, page))
}

/// The paths of all pages below `/console`, as its routes have them, so that a test can look at each.
#[must_use]
pub fn console_pages() -> Vec<&'static str> {
    shown().into_iter().map(|(path, _)| path).collect()
}

/// Their live parts, each compressed once for all windows that show it. A problem becomes a part later.
fn parts() -> Router<AppState> {
    let is_part = |status: StatusCode, _: Version, _: &HeaderMap, _: &Extensions| status.is_success();
    routed()
        .layer(CompressionLayer::new().compress_when(LargeResponses::default().and(is_part)))
        .layer(from_fn_with_state(Shared::default(), shared::once))
}

/// All that needs a login, if the server needs one.
pub(crate) fn pages() -> Router<AppState> {
    let forms = Router::new()
        .route("/q/{id}/answer", post(inbox::answer))
        .route("/grants/{id}/revoke", post(grants::revoke))
        .route("/agents", post(act::create))
        .route("/agents/{id}/messages", post(act::send))
        .route("/agents/{id}/interventions", post(act::intervene))
        .route("/agents/{id}/budget", post(budget::grant))
        .route("/agents/{id}/concerned", get(concerned::show))
        .route("/feed", post(feed::write))
        .route("/goals", post(goals::create))
        .route("/projects", post(documents::create_project))
        .route("/projects/{id}/documents", post(documents::create))
        .route("/documents/{id}/undo", post(documents::undo))
        .route("/documents/{id}", post(edit::change))
        .route("/projects/{id}", post(documents::change_project))
        .route("/goals/{id}", post(goals::change))
        .route("/goals/{id}/delete", post(goals::delete))
        .route("/kinds/reload", post(kinds::reload))
        .route("/kinds/check", post(kinds::check))
        .route("/server/jobs/{name}/run", post(server::run_job))
        .route("/server/doctor", post(server::doctor_of_all))
        .route("/webhooks/{name}/retry", post(webhooks::retry_all))
        .route("/webhooks/{name}/deliveries/{id}/retry", post(webhooks::retry))
        .route("/schedules", post(schedules::create))
        .route("/schedules/{id}", post(schedules::change))
        .route("/logout", post(login::log_out))
        .route("/id/{id}", get(id::find))
        .route("/live", get(live::follow));
    Router::new()
        .nest("/console", routed().merge(forms).fallback(problems::no_page))
        .nest("/console/f", parts())
        .route("/console/", get(async || Redirect::permanent("/console")))
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn(shell::known))
}

/// All that needs no login.
pub(crate) fn open() -> Router<AppState> {
    Router::new()
        .route("/console/login", get(login::show).post(login::log_in))
        .route("/console/assets/{digest}/{*name}", get(assets::serve))
        .method_not_allowed_fallback(method_not_allowed)
}

/// Has routes act for whoever is logged in.
pub(crate) fn with_login(
    pages: Router<AppState>,
    served: &AppState,
    guarded: impl Fn(Router<AppState>) -> Router<AppState>,
) -> Router<AppState> {
    guarded(pages).layer(from_fn_with_state(served.clone(), logins::logged_in))
}

/// Has problems be pages, refuses what other sites have a browser send, and forbids pages what they do not need.
pub(crate) fn as_pages(routes: Router<AppState>) -> Router<AppState> {
    routes
        .layer(from_fn(origin::same_origin))
        .layer(from_fn(problems::as_page))
        .layer(map_response(headers::secured))
}
