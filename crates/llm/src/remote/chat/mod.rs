//! Chat completions: OpenAI's protocol, which most other providers support too.

mod body;
mod chunk;
mod events;

use std::{future::Future, time::Duration};

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use secrecy::ExposeSecret;

use crate::{
    Connection, Delta, Deltas, Error, Provider, Request, Result, http,
    remote::{
        answer::Answer,
        failure::{Failure, MOST_EXPLAINED},
    },
};
use body::Body;
use chunk::Collected;
use events::Events;

/// A client of one provider's chat completions.
pub(super) struct Client {
    provider: Provider,
    url: reqwest::Url,
    headers: HeaderMap,
    http: reqwest::Client,
    header_timeout: Duration,
    silence_timeout: Duration,
}

impl Client {
    pub(super) fn new(provider: Provider, base_url: &str, connection: &Connection) -> Result<Self> {
        let wrong = |what: &str| Error::Configuration(format!("the {what} of {provider} cannot be used"));
        let base_url =
            if provider == Provider::Ollama { format!("{base_url}v1/") } else { base_url.to_owned() };
        // Joined as a URL, so that a query that some gateways require stays at the end.
        let mut url = reqwest::Url::parse(&base_url).map_err(|_| wrong("address"))?;
        url.set_path(&format!("{}chat/completions", url.path()));
        let mut headers =
            HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        if let Some(key) = &connection.key {
            let value = format!("Bearer {}", key.expose_secret());
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong("key"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self {
            provider,
            url,
            headers,
            http: http::client(&base_url)?,
            header_timeout: connection.header_timeout(),
            silence_timeout: connection.silence_timeout(),
        })
    }

    pub(super) async fn call(
        &self,
        name: &str,
        request: &Request,
        failure: &Failure<'_>,
        deltas: &mut dyn Deltas,
    ) -> Result<Answer> {
        let body = serde_json::to_vec(&Body::new(self.provider, name, request))
            .map_err(|error| failure.refused(&format!("it cannot be written as JSON ({error})")))?;
        let sent = self.http.post(self.url.clone()).headers(self.headers.clone()).body(body).send();
        let mut response = within(self.header_timeout, failure, sent).await?;
        if !response.status().is_success() {
            let (status, headers) = (response.status(), response.headers().clone());
            let words = self.explanation(response, failure).await;
            return Err(failure.status(status, &headers, &words));
        }
        deltas.delta(Delta::Taken);
        if let Some(requests) = remaining(response.headers()) {
            deltas.delta(Delta::RequestsRemaining(requests));
        }
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let mut events = Events::default();
        let mut has_events = false;
        let mut collected = Collected::default();
        let mut received = 0;
        while let Some(bytes) = within(self.silence_timeout, failure, response.chunk()).await? {
            received += bytes.len();
            failure.unless_too_long(collected.said() + events.unread(), received)?;
            events.feed(&bytes);
            while let Some(data) = events.next() {
                has_events = true;
                if data == b"[DONE]" {
                    return Ok(collected.into_answer());
                }
                collected.take(data, failure, deltas)?;
            }
        }
        // Some servers end without a blank line, some without `[DONE]`.
        let rest = events.rest();
        // A response that is not an event stream is not a truncated answer, and another attempt would not
        // help.
        if !has_events && rest.is_none() && !content_type.is_empty() && !content_type.contains("event-stream")
        {
            return Err(failure.no_stream(&content_type));
        }
        if let Some(data) = rest.filter(|data| *data != b"[DONE]") {
            collected.take(data, failure, deltas)?;
        }
        Ok(collected.into_answer())
    }

    /// Reads the provider's message in place of an answer, up to a limit.
    async fn explanation(&self, mut response: reqwest::Response, failure: &Failure<'_>) -> String {
        let mut words = Vec::new();
        while let Ok(Some(bytes)) = within(self.silence_timeout, failure, response.chunk()).await
            && words.len() < MOST_EXPLAINED
        {
            words.extend_from_slice(&bytes);
        }
        String::from_utf8_lossy(&words).into_owned()
    }
}

/// Returns how many more requests the provider accepts, if it says so.
fn remaining(headers: &HeaderMap) -> Option<u32> {
    headers.get("x-ratelimit-remaining-requests")?.to_str().ok()?.trim().parse().ok()
}

async fn within<T>(
    limit: Duration,
    failure: &Failure<'_>,
    exchange: impl Future<Output = reqwest::Result<T>>,
) -> Result<T> {
    match tokio::time::timeout(limit, exchange).await {
        Ok(result) => result.map_err(|error| failure.network(error)),
        Err(_) => Err(failure.timed_out(limit)),
    }
}
