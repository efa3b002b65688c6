//! Delivers webhooks to receivers: one signed POST for each attempt.

use std::{
    collections::BTreeMap,
    error::Error as _,
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use entourage_engine::{Clock, Transport, Undelivered};
use entourage_types::Delivery;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::{
    Client, Response, Url,
    header::{CONTENT_TYPE, RETRY_AFTER},
    redirect::Policy,
};

use super::{
    Webhook, document,
    signature::{ID, SIGNATURE, Secret, TIMESTAMP},
    unusable,
};
use crate::Result;

/// How long a receiver may take to confirm a webhook.
const PATIENCE: Duration = Duration::from_secs(15);
const CONNECT: Duration = Duration::from_secs(5);

/// Delivers webhooks over HTTP.
pub(super) struct HttpTransport {
    receivers: BTreeMap<String, Address>,
    clock: Arc<dyn Clock>,
}

/// The address of a receiver, with its client and secret.
struct Address {
    http: Client,
    url: Url,
    secret: Secret,
}

impl HttpTransport {
    /// Delivers to the receivers of these settings, by name. Each attempt is signed with the time of this
    /// clock.
    pub(super) fn new(webhooks: &BTreeMap<String, Webhook>, clock: Arc<dyn Clock>) -> Result<Self> {
        let read = webhooks.iter().map(|(name, webhook)| {
            let address = Address::new(webhook).map_err(|why| unusable("webhooks", name, why))?;
            Ok((name.clone(), address))
        });
        Ok(Self { receivers: read.collect::<Result<_>>()?, clock })
    }
}

impl Address {
    fn new(Webhook { url, secret, events, .. }: &Webhook) -> Result<Self, String> {
        let secret = Secret::parse(secret)?;
        let url = url.parse::<Url>().ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or("`url` is not an address; write it as `https://example.com/webhooks`")?;
        if events.is_empty() {
            return Err("`events` is empty; leave it out to send all events".into());
        }
        // A signed webhook is for the configured address and no other, so it follows no redirects.
        let builder = Client::builder()
            .user_agent(concat!("entourage/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .connect_timeout(CONNECT)
            .timeout(PATIENCE);
        // Reading the system's certificates takes time, and fails if there are none.
        let builder = if url.scheme() == "https" { builder } else { builder.tls_certs_only([]) };
        let http =
            builder.build().map_err(|error| format!("no HTTP client can be made: {}", cause(&error)))?;
        Ok(Self { http, url, secret })
    }
}

#[async_trait]
impl Transport for HttpTransport {
    async fn deliver(&self, delivery: &Delivery) -> Result<(), Undelivered> {
        let Some(Address { http, url, secret }) = self.receivers.get(&delivery.receiver) else {
            return Err(Undelivered::because("no receiver of this name is set up"));
        };
        let unwritten = |error| Undelivered::because(format!("it cannot be written as JSON: {error}"));
        let (id, body) = (delivery.id.to_string(), document::body(delivery).map_err(unwritten)?.to_string());
        // The receiver compares it with its own clock.
        let seconds = self.clock.now().micros() / 1_000_000;
        let request = http.post(url.clone()).header(CONTENT_TYPE, "application/json");
        let request = request
            .header(ID, &id)
            .header(TIMESTAMP, seconds)
            .header(SIGNATURE, secret.sign(&id, seconds, body.as_bytes()));
        match request.body(body).send().await {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) => Err(refused(&response)),
            Err(error) => Err(Undelivered::because(cause(&error))),
        }
    }
}

fn refused(response: &Response) -> Undelivered {
    let after = response.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok());
    let status = response.status();
    let redirect =
        if status.is_redirection() { "; a webhook follows no redirects: set its `url`" } else { "" };
    Undelivered {
        why: format!("it answered {status}{redirect}"),
        retry_after: after.and_then(|after| until(after, SystemTime::now())),
    }
}

/// How long `Retry-After` asks to wait: so many seconds, or until a date.
fn until(after: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = after.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = DateTimeParser::new().parse_timestamp(after).ok()?;
    // A moment that has passed asks for no wait.
    Some(SystemTime::from(until).duration_since(now).unwrap_or_default())
}

/// The first cause, without the address, which may hold a key.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", PATIENCE.as_secs());
    }
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    match error.source() {
        Some(_) => deepest.to_string(),
        None => "the request failed".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_parsed_as_seconds_or_as_a_date() {
        let now = DateTimeParser::new().parse_timestamp("Wed, 21 Oct 2026 07:28:00 GMT").unwrap().into();
        let asked = |after| until(after, now).map(|wait| wait.as_secs());
        assert_eq!(asked("120"), Some(120));
        assert_eq!(asked("Wed, 21 Oct 2026 07:30:30 GMT"), Some(150));
        assert_eq!(asked("Wed, 21 Oct 2026 07:00:00 GMT"), Some(0));
        assert_eq!(asked("soon"), None);
    }
}
