//! What the process measures: the one place where the recorder is made.

use std::{sync::OnceLock, time::Instant};

use axum::{
    extract::{MatchedPath, Request},
    http::Method,
    middleware::Next,
    response::Response,
};
use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

const REQUESTS: &str = "entourage_http_requests_total";
const DURATION: &str = "entourage_http_request_duration_seconds";
/// From a cached read to a slow disk; a stream counts until its head is sent.
const SECONDS: [f64; 10] = [0.000_1, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0];

/// Begins to measure, once per process. Until it has, measurements go nowhere.
pub(crate) fn record_metrics() {
    handle();
}

fn handle() -> &'static PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(|| {
        let builder = PrometheusBuilder::new();
        let recorder = builder
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)
            .unwrap_or_else(|_| PrometheusBuilder::new())
            .build_recorder();
        let handle = recorder.handle();
        if metrics::set_global_recorder(recorder).is_err() {
            tracing::warn!("metrics are recorded elsewhere in this process; /metrics stays empty");
        }
        entourage_engine::measure::describe();
        describe_counter!(REQUESTS, "Requests answered, by route, method and status");
        describe_histogram!(DURATION, Unit::Seconds, "Time until the head of the answer was ready, by route");
        handle
    })
}

/// All measurements, as Prometheus reads them.
pub(crate) fn render() -> String {
    handle().render()
}

/// Puts measurements away that nobody has asked for; without it they pile up.
pub(crate) fn tidy() {
    handle().run_upkeep();
}

/// Measures a request. Routes are named by their pattern, so that ids make no series of their own.
pub(crate) async fn measure(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = method(request.method());
    let response = next.run(request).await;
    histogram!(DURATION, "route" => route.clone()).record(began.elapsed());
    let status = response.status().as_str().to_owned();
    counter!(REQUESTS, "route" => route, "method" => method, "status" => status).increment(1);
    response
}

/// The method as a label: a client's own inventions make no series of their own either.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
