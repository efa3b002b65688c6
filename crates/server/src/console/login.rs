//! Logging in with a token, and out again.

use askama::Template;
use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header::SET_COOKIE},
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;

use super::{
    assets,
    filters::{escaped, rendered},
    logins::{LoginSecret, cookie, given},
    origin::is_by_tls,
    shell::{Fields, is_htmx, live_path},
};
use crate::{
    Problem,
    active_request::ActiveRequest,
    auth::Bearer,
    extract::{Caller, Filter},
    state::AppState,
};

/// Where to go from the login.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct From {
    next: Option<String>,
}

/// The page.
#[derive(Template)]
#[template(path = "login.html")]
struct Page<'a> {
    assets: &'a str,
    next: &'a str,
    refused: Option<&'a str>,
}

/// What the form sends.
#[derive(Deserialize)]
pub(super) struct Given {
    token: String,
    #[serde(default)]
    next: String,
}

/// A page of the console, and of no other site.
fn own(next: &str) -> &str {
    let is_own = next == "/console" || ["/console/", "/console?"].iter().any(|own| next.starts_with(own));
    let path = next.split('?').next().unwrap_or_default();
    let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte));
    let is_page = live_path(path).is_none() && path != "/console/live" && !path.contains("//");
    if is_own && is_plain && is_page && next.bytes().all(|byte| byte.is_ascii_graphic()) {
        next
    } else {
        "/console"
    }
}

pub(super) async fn show(
    State(served): State<AppState>,
    Filter(From { next }): Filter<From>,
) -> Result<Response, Problem> {
    let next = own(next.as_deref().unwrap_or_default());
    match served.bearer {
        Bearer::Local => Ok(Redirect::to(next).into_response()),
        Bearer::Token(_) => page(next, None),
    }
}

fn page(next: &str, refused: Option<&str>) -> Result<Response, Problem> {
    let page = rendered(&Page { assets: assets::digest(), next, refused })?;
    let status = if refused.is_some() { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
    Ok((status, page).into_response())
}

pub(super) async fn log_in(
    State(served): State<AppState>,
    visit: Option<Extension<std::sync::Arc<ActiveRequest>>>,
    headers: HeaderMap,
    Fields(Given { token, next }): Fields<Given>,
) -> Result<Response, Problem> {
    let next = own(&next);
    let Bearer::Token(check) = &served.bearer else { return Ok(Redirect::to(next).into_response()) };
    let now = served.engine.clock().now();
    let verified = check.verify(token.trim()).and_then(|identity| match identity.expires {
        // A token may be a little late for a request, and not for a login, which would end at once.
        Some(expires) if expires <= now => Err(Problem::bad_token("it has expired; get a new one")),
        _ => Ok(identity),
    });
    let identity = match verified {
        Ok(identity) => identity,
        Err(problem) => {
            served.logins.count_failure(visit.map(|Extension(visit)| visit.address), now)?;
            return if is_htmx(&headers) { Err(problem) } else { page(next, Some(&problem.document.detail)) };
        }
    };
    let client = served.engine.client(identity.owner).operating(identity.is_operator);
    let (secret, login) = client.log_in(identity.expires).await?;
    // What this browser had before ends, once there is another: a crash between them leaves one too many.
    if let Some(before) = given(&headers).and_then(|sealed| served.seal.opened(sealed)) {
        served.engine.log_out(before).await?;
        served.logins.tell();
    }
    let seconds = login.expires.since(login.created).as_secs();
    let set = cookie(Some((&served.seal.sealed(&secret), seconds)), is_by_tls(&headers));
    let mut response = if is_htmx(&headers) {
        let told = serde_json::json!({ "logged-in": { "owner": login.owner.as_str() } }).to_string();
        (StatusCode::NO_CONTENT, [("hx-trigger", escaped(&told, |char| char.is_ascii()))]).into_response()
    } else {
        Redirect::to(next).into_response()
    };
    set_cookie(&mut response, &set);
    Ok(response)
}

/// Whether one or all logins end.
#[derive(Deserialize)]
pub(super) struct Leave {
    #[serde(default)]
    everywhere: bool,
}

pub(super) async fn log_out(
    caller: Caller,
    State(served): State<AppState>,
    secret: Option<Extension<LoginSecret>>,
    Fields(Leave { everywhere }): Fields<Leave>,
) -> Result<Response, Problem> {
    if everywhere {
        caller.client.log_out_everywhere().await?;
    } else if let Some(Extension(LoginSecret(secret))) = secret {
        served.engine.log_out(&secret).await?;
    }
    served.logins.tell();
    let mut response = Redirect::to("/console/login").into_response();
    for by_tls in [false, true] {
        set_cookie(&mut response, &cookie(None, by_tls));
    }
    Ok(response)
}

fn set_cookie(response: &mut Response, cookie: &str) {
    // Hex digits, words and separators are a header's value.
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(SET_COOKIE, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_leads_to_a_page_of_the_console_alone() {
        for kept in ["/console", "/console/trees", "/console?a=1"] {
            assert_eq!(own(kept), kept);
        }
        for other in [
            "",
            "/",
            "/consolex",
            "//evil.example",
            "https://evil.example",
            "/console/\r\nx",
            "/console/ä",
            "/console/../v1",
            "/console/%2e%2e/v1",
            "/console//evil",
            "/console/live",
            "/console/f/trees",
        ] {
            assert_eq!(own(other), "/console", "{other}");
        }
    }
}
