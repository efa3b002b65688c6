//! Forms of other sites: a browser sends this server's cookie with them, so that each request that changes something must
//! come from a page of this server.

use axum::{
    extract::Request,
    http::{
        HeaderMap, HeaderName, Uri,
        header::{HOST, ORIGIN},
        uri::Authority,
    },
    middleware::Next,
    response::Response,
};

use super::logins::has_host_cookie;
use crate::{Problem, auth::SEC_FETCH_SITE};

/// The headers in which a browser reports what a request is for.
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Middleware: passes a request on if a page of this server sent it, or if it opens a page in a window of its own, as a
/// link in a mail does.
pub(super) async fn same_origin(request: Request, next: Next) -> Result<Response, Problem> {
    let headers = request.headers();
    let is_allowed = if request.method().is_safe() { opens_or_is_own(headers) } else { is_own(headers) };
    if !is_allowed {
        return Err(Problem::forbidden(
            "the request does not come from a page of this server: open its page, and do it there",
        ));
    }
    Ok(next.run(request).await)
}

/// Whether a request that changes nothing may be answered. Programs send none of the headers.
fn opens_or_is_own(headers: &HeaderMap) -> bool {
    let is = |name: &HeaderName, value: &str| headers.get(name).is_some_and(|given| given == value);
    let opens = is(&SEC_FETCH_MODE, "navigate") && is(&SEC_FETCH_DEST, "document");
    !headers.contains_key(SEC_FETCH_SITE) || is(&SEC_FETCH_SITE, "none") || is_own(headers) || opens
}

/// Whether a page of this server sent the request. No page can set the first of the headers; old browsers send the
/// second one alone.
fn is_own(headers: &HeaderMap) -> bool {
    let only = |name: &HeaderName| {
        let mut values = headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok())
    };
    match headers.contains_key(SEC_FETCH_SITE) {
        true => only(&SEC_FETCH_SITE) == Some("same-origin"),
        false => match (only(&ORIGIN), only(&HOST)) {
            // A cookie of TLS says by what the browser has come: what another scheme has sent is another site's.
            (Some(origin), Some(host)) => {
                is_of(host, origin) && (is_by_tls(headers) || !has_host_cookie(headers))
            }
            _ => false,
        },
    }
}

/// Whether an origin has the name and the port of this host.
fn is_of(host: &str, origin: &str) -> bool {
    let Ok(origin) = origin.parse::<Uri>() else { return false };
    let port = match origin.scheme_str() {
        Some("http") => 80,
        Some("https") => 443,
        _ => return false,
    };
    let whole =
        |authority: &Authority| (authority.host().to_ascii_lowercase(), authority.port_u16().unwrap_or(port));
    let (of, host) = (origin.authority().map(whole), host.parse::<Authority>().ok());
    of.is_some() && of == host.as_ref().map(whole)
}

/// Whether the browser reached this server by TLS, as the page says that sent the form.
pub(super) fn is_by_tls(headers: &HeaderMap) -> bool {
    headers.get(ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderValue, header::COOKIE};

    use super::*;

    fn sent(headers: &[(&HeaderName, &'static str)]) -> bool {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.append(*name, HeaderValue::from_static(value));
        }
        is_own(&all)
    }

    #[test]
    fn pages_of_others_open_a_page_and_read_none() {
        let get = |headers: &[(&HeaderName, &'static str)]| {
            let all = headers.iter().map(|(name, value)| ((*name).clone(), HeaderValue::from_static(value)));
            opens_or_is_own(&all.collect())
        };
        let (site, mode, dest) = (&SEC_FETCH_SITE, &SEC_FETCH_MODE, &SEC_FETCH_DEST);
        assert!(get(&[]) && get(&[(site, "none")]) && get(&[(site, "same-origin"), (mode, "cors")]));
        for other in ["same-site", "cross-site"] {
            assert!(get(&[(site, other), (mode, "navigate"), (dest, "document")]), "{other}");
            for (how, what) in [("no-cors", "empty"), ("navigate", "iframe"), ("cors", "empty")] {
                assert!(!get(&[(site, other), (mode, how), (dest, what)]), "{other} {how} {what}");
            }
        }
    }

    #[test]
    fn only_a_page_of_this_server_sends_what_is_taken() {
        let (site, origin, host, cookie) = (&SEC_FETCH_SITE, &ORIGIN, &HOST, &COOKIE);
        for good in [
            &[(site, "same-origin")][..],
            &[(site, "same-origin"), (host, "a.example"), (origin, "http://b.example")],
            &[(host, "127.0.0.1:4180"), (origin, "http://127.0.0.1:4180")],
            &[(host, "a.example"), (origin, "https://a.example")],
            &[(host, "A.example:443"), (origin, "https://a.example")],
            &[(host, "a.example"), (origin, "https://a.example"), (cookie, "__Host-entourage_console=x")],
            &[(host, "a.example"), (origin, "http://a.example"), (cookie, "entourage_console=x")],
        ] {
            assert!(sent(good), "{good:?}");
        }
        for bad in [
            &[][..],
            &[(host, "a.example")],
            &[(site, "same-site"), (host, "a.example"), (origin, "http://a.example")],
            &[(site, "none")],
            &[(site, "same-origin"), (site, "cross-site")],
            &[(host, "127.0.0.1:4180"), (origin, "http://127.0.0.1:4181")],
            &[(host, "a.example"), (origin, "http://a.example.evil.example")],
            &[(host, "a.example"), (origin, "null")],
            &[(host, "a.example"), (origin, "http://a.example"), (cookie, "a=b; __Host-entourage_console=x")],
            &[(host, "a.example"), (origin, "file://a.example")],
            &[(host, "a.example"), (origin, "http://a.example"), (origin, "http://b.example")],
        ] {
            assert!(!sent(bad), "{bad:?}");
        }
    }
}
