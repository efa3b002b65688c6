//! For the operator: whether the server is up, whether it is ready, and its metrics. These routes show no
//! owner and no owner's data, and need no token, unless the settings require one for `/metrics`.

use std::time::Duration;

use axum::{
    Router,
    extract::State,
    http::{HeaderName, StatusCode, header::CONTENT_TYPE},
    routing::get,
};
use entourage_engine::{Engine, StoreError};
use entourage_types::Time;

use super::failures::{Failures, Unexpected};
use crate::{
    Problem, metrics,
    problem::no_route,
    routes::api_router::{ApiRouter, routes},
    state::AppState,
};

/// How long the store may take to answer a readiness probe.
const PROBE: Duration = Duration::from_secs(2);

pub(crate) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(up)).routes(routes!(ready))
}

/// The metrics, for which the settings may require a token.
pub(crate) fn measured() -> ApiRouter {
    ApiRouter::new().routes(routes!(measurements))
}

/// The same of a process that serves nothing else.
pub(crate) fn probes(engine: Engine) -> Router {
    Router::new()
        .route("/healthz", get(up))
        .route("/readyz", get(async |State(engine): State<Engine>| is_ready(&engine).await))
        .route("/metrics", get(async |State(engine): State<Engine>| measured_at(&engine).await))
        .fallback(no_route)
        .with_state(engine)
}

/// Whether the process is up
#[utoipa::path(
    get, path = "/healthz", tag = "operations", operation_id = "health", security(()),
    responses((status = 204, description = "The process is up."), Unexpected)
)]
async fn up() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// Whether the server can do its work
#[utoipa::path(
    get, path = "/readyz", tag = "operations", operation_id = "ready", security(()),
    responses(
        (status = 204, description = "The store answers and takes commits."),
        Failures,
    )
)]
async fn ready(State(served): State<AppState>) -> Result<StatusCode, Problem> {
    is_ready(&served.engine).await
}

async fn is_ready(engine: &Engine) -> Result<StatusCode, Problem> {
    let store = engine.store();
    let ready = async {
        // No wake-up is due before the beginning of time: this is the cheapest query.
        store.due(Time::from_micros(0), None, 1).await?;
        if let Some(why) = store.damage() {
            return Err(StoreError::Damaged(why));
        }
        store.ready().await
    };
    match tokio::time::timeout(PROBE, ready).await {
        Ok(ready) => ready
            .map(|()| StatusCode::NO_CONTENT)
            .map_err(|error| entourage_engine::Error::from(error).into()),
        Err(_) => Err(Problem::unavailable(format!(
            "the database has not answered for {} seconds: the disk is slow, or another program holds it",
            PROBE.as_secs()
        ))),
    }
}

/// The metrics of the process, for Prometheus
#[utoipa::path(
    get, path = "/metrics", tag = "operations", operation_id = "metrics", security(()),
    responses((status = 200, description = "All metrics.", body = String, content_type = "text/plain"), Unexpected)
)]
async fn measurements(State(served): State<AppState>) -> ([(HeaderName, &'static str); 1], String) {
    measured_at(&served.engine).await
}

async fn measured_at(engine: &Engine) -> ([(HeaderName, &'static str); 1], String) {
    // Counters are returned even if the store cannot be read.
    if let Err(error) = engine.measure().await {
        tracing::warn!(%error, "the age of the queue cannot be measured");
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], metrics::render())
}
