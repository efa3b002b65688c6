//! Writes spans as OTLP's JSON and sends them to a collector.

use std::time::Duration;

use entourage_engine::{Span, TraceValue};
use reqwest::{
    Client, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use serde_json::{Value, json};

/// How long a collector may take for one request.
const PATIENCE: Duration = Duration::from_secs(5);
/// OTLP's numbers for internal spans, client spans, and failed spans.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
const FAILED: u8 = 2;

/// Sends spans to a collector.
pub(super) struct Sender {
    client: Client,
    endpoint: Url,
    headers: HeaderMap,
    service: String,
}

impl Sender {
    /// A sender to an address, with headers as `name=value,…`.
    pub(super) fn new(endpoint: &str, headers: &str, service: String) -> Result<Self, String> {
        let no_url =
            || format!("`{endpoint}` is no address of a collector; write it as `http://127.0.0.1:4318`");
        let endpoint: Url = endpoint.parse().map_err(|_| no_url())?;
        if !matches!(endpoint.scheme(), "http" | "https") {
            return Err(no_url());
        }
        entourage_llm::install_tls();
        // A redirect would send the keys among the headers, and the content of messages, to an address that
        // no setting names.
        let client = Client::builder().timeout(PATIENCE).redirect(Policy::none()).build();
        let client = client.map_err(|error| format!("no HTTP client can be made: {error}"))?;
        Ok(Self { client, endpoint, headers: parsed(headers)?, service })
    }

    /// Sends spans; the error is a sentence without secrets.
    pub(super) async fn send(&self, spans: &[Span]) -> Result<(), String> {
        let request = self.client.post(self.endpoint.clone()).headers(self.headers.clone());
        let sent = request.json(&body(&self.service, spans)).send().await;
        let response = sent.map_err(|error| error.without_url().to_string())?;
        let status = response.status();
        if status.is_success() { Ok(()) } else { Err(format!("the collector answered {status}")) }
    }
}

/// Parses headers. They often hold a key, so an error does not repeat them.
fn parsed(headers: &str) -> Result<HeaderMap, String> {
    let pairs = headers.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let header = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let name = HeaderName::try_from(name.trim()).ok()?;
        let mut value = HeaderValue::try_from(value.trim()).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    };
    let wrong = || "OTEL_EXPORTER_OTLP_HEADERS is not of the form `name=value,name=value`".to_owned();
    pairs.map(|pair| header(pair).ok_or_else(wrong)).collect()
}

fn body(service: &str, spans: &[Span]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [("service.name", service), ("service.version", version)];
    let resource: Vec<Value> = resource.iter().map(|(key, text)| attribute(key, &(*text).into())).collect();
    let scope = json!({ "name": "entourage", "version": version });
    let spans: Vec<Value> = spans.iter().map(span).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }]})
}

fn span(span: &Span) -> Value {
    let nanos = |time: entourage_types::Time| (i128::from(time.micros()) * 1000).to_string();
    let attributes: Vec<Value> = span.attributes.iter().map(|(key, value)| attribute(key, value)).collect();
    let mut written = json!({
        "traceId": span.trace.to_string(),
        "spanId": span.id.to_string(),
        "name": span.name,
        "kind": if span.remote { CLIENT } else { INTERNAL },
        "startTimeUnixNano": nanos(span.began),
        "endTimeUnixNano": nanos(span.ended),
        "attributes": attributes,
    });
    if let Some(parent) = span.parent {
        written["parentSpanId"] = parent.to_string().into();
    }
    if let Some(error) = &span.error {
        written["status"] = json!({ "code": FAILED, "message": error });
    }
    written
}

/// A 64-bit number is a string in this JSON.
fn attribute(key: &str, value: &TraceValue) -> Value {
    let value = match value {
        TraceValue::Text(text) => json!({ "stringValue": text }),
        TraceValue::Count(count) => json!({ "intValue": count.to_string() }),
    };
    json!({ "key": key, "value": value })
}
