//! For whoever runs the engine: is it up, is it ready, what does it do. These routes name no owner
//! and nobody's data, and need no token, unless the settings want one for `/metrics`.

use std::time::Duration;

use axum::{
    extract::State,
    http::{HeaderName, StatusCode, header::CONTENT_TYPE},
};
use entourage_engine::StoreError;
use entourage_types::Time;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::failures::{Failures, Unexpected};
use crate::{Problem, metrics, state::Served};

/// How long the store may take to say that it is well: who probes waits no longer.
const PROBE: Duration = Duration::from_secs(2);

pub(crate) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(up)).routes(routes!(ready))
}

/// What is measured, which the settings may keep from whoever has no token.
pub(crate) fn measured() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(measurements))
}

/// Whether the process is up
#[utoipa::path(
    get, path = "/healthz", tag = "operations", operation_id = "health", security(()),
    responses((status = 204, description = "It is."), Unexpected)
)]
async fn up() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// Whether the engine can do its work
#[utoipa::path(
    get, path = "/readyz", tag = "operations", operation_id = "ready", security(()),
    responses(
        (status = 204, description = "The store answers and takes commits."),
        Failures,
    )
)]
async fn ready(State(served): State<Served>) -> Result<StatusCode, Problem> {
    let store = served.engine.store();
    let ready = async {
        // Nothing is due before the beginning of time: the cheapest question there is.
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

/// What the process has measured, for Prometheus
#[utoipa::path(
    get, path = "/metrics", tag = "operations", operation_id = "metrics", security(()),
    responses((status = 200, description = "All metrics.", body = String, content_type = "text/plain"), Unexpected)
)]
async fn measurements(State(served): State<Served>) -> ([(HeaderName, &'static str); 1], String) {
    // What was counted is told also when the store cannot be asked.
    if let Err(error) = served.engine.measure().await {
        tracing::warn!(%error, "how old the queue is cannot be measured");
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], metrics::render())
}
