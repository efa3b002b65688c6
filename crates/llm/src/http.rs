//! HTTP clients: built at the first call, so that a start costs nothing.

use std::time::Duration;

use reqwest::redirect::Policy;
use serde_json::Value;

use crate::{Error, Result};

/// The largest body that is read whole, in decompressed bytes: the longest list of models has a few hundred
/// thousand.
const MOST: usize = 8 << 20;

/// Installs the process's TLS implementation, unless one is installed already. Cheap to call again.
pub fn install_tls() {
    // An error means that another one was installed first, which is fine too.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Builds a client for one provider.
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
    // Reading the system's certificates takes milliseconds, and fails if there are none: do it only for TLS.
    let builder = if base_url.starts_with("https:") { builder } else { builder.tls_certs_only([]) };
    builder.build().map_err(|error| {
        let cause = chain(&error);
        Error::Configuration(format!(
            "no HTTPS client: {cause}; is a package such as `ca-certificates` installed?"
        ))
    })
}

/// Reads a body other than a model's answer: a provider's or server's information about itself, or why it
/// refuses. Returns none for a longer body, without reading it to its end.
///
/// # Errors
/// The error that broke the exchange.
pub(crate) async fn body(mut response: reqwest::Response) -> reqwest::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await? {
        if body.len() + bytes.len() > MOST {
            return Ok(None);
        }
        body.extend_from_slice(&bytes);
    }
    Ok(Some(body))
}

/// Reads a body as JSON. Returns none if it is not JSON, too long, or broken off.
pub(crate) async fn json(response: reqwest::Response) -> Option<Value> {
    serde_json::from_slice(&body(response).await.ok()??).ok()
}

/// Formats an error and its causes on one line.
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
