//! HTTP clients that are built at their first use.

use std::{error::Error as _, sync::LazyLock, time::Duration};

use futures::StreamExt;
use reqwest::{Client, ClientBuilder, Response, redirect::Policy};

use crate::{Error, Result};

const CONNECT: Duration = Duration::from_secs(10);

/// A client that is built at its first use, so that a engine that never looks at the web does not
/// pay for reading the system's certificates.
pub(super) type Lazy = LazyLock<Result<Client>>;

/// What all clients have in common. None follows redirects by itself: one could take a key to
/// another host, or the engine's own network to a stranger.
pub(super) fn builder() -> ClientBuilder {
    crate::tls::ensure_provider();
    Client::builder()
        .user_agent(concat!("entourage/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .redirect(Policy::none())
}

/// The built client.
pub(super) fn build(builder: ClientBuilder) -> Result<Client> {
    builder.build().map_err(|error| Error::Failed(format!("no HTTP client: {}", causes(&error))))
}

/// Why a body was not read to its end.
pub(super) enum Unread {
    TooLarge,
    BrokenOff(String),
}

/// The body of an answer, decompressed, of so many bytes at most.
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

/// An error with its causes, which is where reqwest says what happened. Without the address: it
/// may hold what is not for the model.
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
