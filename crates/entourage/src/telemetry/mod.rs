//! Traces over OTLP: where they are sent, and how, so that no agent waits for it.
//!
//! The engine makes the spans from stored data, complete and with their ids; this module writes them as
//! OTLP's JSON and sends them. The SDK of OpenTelemetry makes spans while things happen, in one process, with
//! ids of its own.

mod otlp;
mod queue;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

pub use queue::Exporter;

use crate::{Error, Result};

/// Where traces are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The address of a collector that accepts OTLP over HTTP, such as `http://127.0.0.1:4318`; by default
    /// that of `OTEL_EXPORTER_OTLP_ENDPOINT`. Without either, nothing is traced.
    pub otlp_endpoint: Option<String>,
    /// Whether traces contain the messages of models, and the arguments and outputs of tools.
    pub content: bool,
}

/// The exporter that these settings and OpenTelemetry's own variables configure, if they do. It needs a
/// runtime: it starts a task of its own.
///
/// # Errors
/// [`Error::Settings`] when the address is invalid, or the variable with headers cannot be parsed.
pub fn exporter(
    settings: &Settings,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Arc<Exporter>>> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let disabled = set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let base = settings.otlp_endpoint.clone().or_else(|| set("OTEL_EXPORTER_OTLP_ENDPOINT"));
    let of_traces = set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").filter(|_| settings.otlp_endpoint.is_none());
    let below = |base: String| format!("{}/v1/traces", base.trim_end_matches('/'));
    let Some(endpoint) = of_traces.or(base.map(below)).filter(|_| !disabled) else { return Ok(None) };
    let service = set("OTEL_SERVICE_NAME").unwrap_or_else(|| "entourage".into());
    let headers = set("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
    let wrong = |why: String| Error::Settings { place: "telemetry.otlp_endpoint".into(), why };
    let sender = otlp::Sender::new(&endpoint, &headers, service).map_err(wrong)?;
    Ok(Some(Arc::new(Exporter::start(sender, settings.content))))
}
