//! A server without authentication trusts its machine, but not the web pages that are open on it. A page of
//! another site can reach a loopback port through a form or a script, or through a host name that it points
//! to this machine (DNS rebinding). Both show in headers that a page cannot set.

use axum::{
    extract::Request,
    http::{
        HeaderName, Method,
        header::{HOST, ORIGIN},
        uri::Authority,
    },
    middleware::Next,
    response::Response,
};

use crate::Problem;

/// The header in which a browser reports where a request comes from.
pub(crate) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Middleware: passes a request on if its host is this machine and it does not come from a page of another
/// site.
pub(crate) async fn guard(request: Request, next: Next) -> Result<Response, Problem> {
    check(&request)?;
    Ok(next.run(request).await)
}

/// Whether a request opens a page of the console in a window of its own, as a link in a mail does: that changes nothing,
/// and who has put the link there reads nothing of it.
fn opens_console(request: &Request) -> bool {
    let is =
        |name: &'static str, value: &str| request.headers().get(name).is_some_and(|given| given == value);
    let path = request.uri().path();
    let is_page = path == "/" || path == "/console" || path.starts_with("/console/");
    request.method() == Method::GET
        && is_page
        && is("sec-fetch-mode", "navigate")
        && is("sec-fetch-dest", "document")
}

fn check(request: &Request) -> Result<(), Problem> {
    let (uri, headers) = (request.uri(), request.headers());
    // With two values, a proxy may check one while this server reads the other.
    let header = |name: HeaderName| {
        let mut values = headers.get_all(&name).iter();
        let first = values.next().map(|value| value.to_str().unwrap_or(""));
        match values.next() {
            None => Ok(first),
            Some(_) => Err(Problem::bad_header(format!("`{name}` is sent more than once; send it once"))),
        }
    };
    let (named, site, origin) = (header(HOST)?, header(SEC_FETCH_SITE)?, header(ORIGIN)?);
    let host = uri.authority().map(Authority::as_str).or(named);
    let Some(host) = host.filter(|host| is_loopback(host)) else {
        return Err(Problem::foreign_host(host.unwrap_or("")));
    };
    match (site, origin) {
        // No page can set `Sec-Fetch-Site`. `none` means that the user caused the request, not a page.
        (Some("same-origin" | "none"), _) | (None, None) => Ok(()),
        (Some(_), None) if opens_console(request) => Ok(()),
        (None, Some(origin)) if is_of(host, origin) => Ok(()),
        (_, Some(origin)) => Err(Problem::foreign_origin(origin)),
        (Some(_), None) => Err(Problem::foreign_origin("another site")),
    }
}

/// Parses a host with an optional port, and nothing else: the parser alone also accepts a user before the
/// host, and any text after a bracket or a colon.
fn authority(text: &str) -> Option<Authority> {
    let authority = text.parse::<Authority>().ok()?;
    let behind = authority.as_str().strip_prefix(authority.host())?;
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    let is_whole = behind.is_empty() || behind.strip_prefix(':').is_some_and(is_port);
    is_whole.then_some(authority)
}

/// Whether an origin has the scheme, which is `http` here, the name and the port of this host.
fn is_of(host: &str, origin: &str) -> bool {
    let with_port = |text: &str| {
        let authority = authority(text)?;
        Some((authority.host().to_ascii_lowercase(), authority.port_u16().unwrap_or(80)))
    };
    origin
        .strip_prefix("http://")
        .is_some_and(|origin| with_port(origin).is_some() && with_port(origin) == with_port(host))
}

/// Whether an authority, with or without a port, names this machine.
fn is_loopback(text: &str) -> bool {
    let Some(authority) = authority(text) else { return false };
    let host = authority.host();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for good in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:4180", "[::1]", "[::1]:4180"] {
            assert!(is_loopback(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "0.0.0.0",
            "127.0.0.1@evil.example",
            "user@localhost",
            "user@127.0.0.1:4180",
            "[::ffff:10.0.0.1]",
            "[::1].evil.example",
            "localhost:80.evil.example",
        ] {
            assert!(!is_loopback(bad), "{bad}");
        }
    }
}
