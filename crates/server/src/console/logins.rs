//! Who is logged in: a cookie has the secret of a login that the store keeps.

use std::net::IpAddr;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, header::COOKIE},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use entourage_engine::Engine;
use entourage_types::Time;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::sync::watch;

use super::shell::is_part;
use crate::{
    Problem,
    accounts::{RateLimit, network},
    auth::{Bearer, Identity},
    state::AppState,
};

/// The name of the cookie.
const COOKIE_NAME: &str = "entourage_console";
/// Its name behind TLS: with this prefix browsers take it from this very host alone.
const HOST_COOKIE: &str = "__Host-entourage_console";
/// How many attempts a minute are made from one network address.
const PER_ADDRESS: u32 = 30;
/// How often a stream looks whether its login has ended at another node.
const LOOKS: std::time::Duration = std::time::Duration::from_secs(30);

/// What logging in and out needs.
pub(crate) struct Logins {
    attempts: RateLimit,
    /// Told when a login ends.
    ended: watch::Sender<()>,
}

/// The secret of the login by which a request was authenticated.
#[derive(Clone)]
pub(super) struct LoginSecret(pub(super) String);

impl Logins {
    pub(crate) fn new() -> Self {
        Self { attempts: RateLimit::new(PER_ADDRESS), ended: watch::Sender::new(()) }
    }

    /// Counts an attempt to log in that has failed; an error beyond the limit.
    pub(super) fn count_failure(&self, from: Option<IpAddr>, now: Time) -> Result<(), Problem> {
        let Some(address) = from else { return Ok(()) };
        self.attempts.attempt(&network(address), now).map_err(|wait| {
            let why = format!("there were too many attempts to log in; wait for {} s", wait.as_secs() + 1);
            Problem::too_many_attempts(why).after(wait)
        })
    }

    /// Has streams whose login has ended end.
    pub(super) fn tell(&self) {
        self.ended.send_replace(());
    }

    /// Resolves once this login has ended.
    pub(super) async fn until_ended(
        mut told: watch::Receiver<()>,
        engine: Engine,
        secret: Option<LoginSecret>,
    ) {
        let Some(LoginSecret(secret)) = secret else { return std::future::pending().await };
        while !matches!(engine.console_login(&secret).await, Ok(None)) {
            tokio::select! {
                _ = told.changed() => {}
                () = engine.clock().sleep_until(engine.clock().now() + LOOKS) => {}
            }
        }
    }

    /// Hears of logins that end.
    pub(super) fn listen(&self) -> watch::Receiver<()> {
        self.ended.subscribe()
    }
}

/// The cookie that logs a browser in, or out if there is no secret.
pub(super) fn cookie(secret: Option<(&str, u64)>, by_tls: bool) -> String {
    let (value, seconds) = secret.unwrap_or_default();
    let (name, path, secure) =
        if by_tls { (HOST_COOKIE, "/", "; Secure") } else { (COOKIE_NAME, "/console", "") };
    format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
}

/// The value of the cookie in a request. Whoever shares the host's name can add one for some of its paths: of two with
/// the same name, none is taken.
pub(super) fn given(headers: &HeaderMap) -> Option<&str> {
    let name = if has_host_cookie(headers) { HOST_COOKIE } else { COOKIE_NAME };
    let mut of = cookies(headers).filter(|(given, _)| *given == name).map(|(_, value)| value);
    of.next().filter(|_| of.next().is_none())
}

/// Whether a request has the cookie that browsers send by TLS alone.
pub(super) fn has_host_cookie(headers: &HeaderMap) -> bool {
    cookies(headers).any(|(name, _)| name == HOST_COOKIE)
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// Middleware: authenticates a request by its cookie. Who is not logged in gets to the login, and from there back.
pub(super) async fn logged_in(
    State(served): State<AppState>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let identity = match &served.bearer {
        Bearer::Local => Identity::local(),
        Bearer::Token(_) => {
            let secret =
                given(request.headers()).and_then(|sealed| served.seal.opened(sealed)).map(str::to_owned);
            let found = match &secret {
                Some(secret) => served.engine.console_login(secret).await?,
                None => None,
            };
            let (Some(login), Some(secret)) = (found, secret) else {
                return if request.method() == Method::GET && !is_part(&request) {
                    let from = request.uri().path_and_query().map_or("/console", |path| path.as_str());
                    let from = utf8_percent_encode(from, NON_ALPHANUMERIC);
                    Ok(Redirect::to(&format!("/console/login?next={from}")).into_response())
                } else {
                    Err(Problem::unauthorized("your login has ended; log in again"))
                };
            };
            request.extensions_mut().insert(LoginSecret(secret));
            Identity { owner: login.owner, is_operator: login.is_operator, expires: Some(login.expires) }
        }
    };
    request.extensions_mut().insert(identity);
    Ok(next.run(request).await)
}
