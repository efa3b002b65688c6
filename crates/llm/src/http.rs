//! HTTP clients: made at the first call, so that a start costs nothing.

use std::time::Duration;

use reqwest::redirect::Policy;

use crate::{Error, Result};

/// Installs the process's TLS implementation, unless one is there already. Cheap to call again.
pub fn install_tls() {
    // An error means that another was installed first, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client for one provider.
///
/// Redirects are not followed: a request carries a key in its headers, and only the address that
/// was configured may see it.
pub(crate) fn client(base_url: &str) -> Result<reqwest::Client> {
    install_tls();
    let builder = reqwest::Client::builder()
        .redirect(Policy::none())
        .tcp_nodelay(true)
        .connect_timeout(Duration::from_secs(10))
        .http2_keep_alive_interval(Duration::from_secs(20))
        .http2_keep_alive_timeout(Duration::from_secs(10));
    // Reading the system's certificates takes milliseconds, and fails where there are none: both
    // only where TLS is spoken at all.
    let builder = if base_url.starts_with("https:") { builder } else { builder.tls_certs_only([]) };
    builder.build().map_err(|error| {
        let cause = chain(&error);
        Error::Configuration(format!(
            "no HTTPS client: {cause}; is a package such as `ca-certificates` installed?"
        ))
    })
}

/// An error and what caused it, on one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
