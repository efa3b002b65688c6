//! The metrics of the process. The recorder is created only here.

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
/// Bucket bounds in seconds, from a cached read to a slow disk. A stream counts until its head is sent.
const SECONDS: [f64; 10] = [0.000_1, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0];

/// Installs the recorder, once per process. Measurements before that are lost.
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
        entourage_engine::metrics::describe();
        describe_counter!(REQUESTS, "Requests answered, by route, method and status");
        describe_histogram!(DURATION, Unit::Seconds, "Time until the head of the answer was ready, by route");
        handle
    })
}

/// Renders all metrics in the format that Prometheus reads.
pub(crate) fn render() -> String {
    handle().render()
}

/// Folds up measurements that no scrape has read yet; without it they pile up in memory.
pub(crate) fn tidy() {
    handle().run_upkeep();
}

/// Middleware: measures a request. Routes are named by their pattern, so that ids create no series.
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

/// The method as a label: methods that a client invents create no series either.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
