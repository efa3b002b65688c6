//! HTTP clients that are built at their first use.

use std::{error::Error as _, sync::LazyLock, time::Duration};

use futures::StreamExt;
use reqwest::{Client, ClientBuilder, Response, redirect::Policy};

use crate::{Error, Result};

const CONNECT: Duration = Duration::from_secs(10);

/// A client that is built at its first use, so that an engine that never looks at the web does not
/// pay for reading the system's certificates.
pub(super) type Lazy = LazyLock<Result<Client>>;

/// Returns the common configuration of all clients. No client follows redirects by itself: a redirect could
/// send a key to another host, or give a third party access to the engine's own network.
pub(super) fn builder() -> ClientBuilder {
    crate::tls::ensure_provider();
    Client::builder()
        .user_agent(concat!("entourage/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .redirect(Policy::none())
}

/// Builds the client.
pub(super) fn build(builder: ClientBuilder) -> Result<Client> {
    builder.build().map_err(|error| Error::Failed(format!("no HTTP client: {}", causes(&error))))
}

/// Why a body was not read to its end.
pub(super) enum Unread {
    TooLarge,
    BrokenOff(String),
}

/// Reads the body of an answer, decompressed, up to so many bytes.
pub(super) async fn body(response: Response, most: usize) -> Result<Vec<u8>, Unread> {
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| Unread::BrokenOff(causes(&error)))?;
        if body.len() + chunk.len() > most {
            return Err(Unread::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Describes an error by its deepest cause, where reqwest says what happened. Omits the address: it may
/// contain data that the model must not see.
pub(super) fn causes(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    match error.source() {
        Some(_) => deepest.to_string(),
        None => "the request failed".to_owned(),
    }
}
