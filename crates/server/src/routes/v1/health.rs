//! Health: ends tasks and goals that make no progress, and forgets old tasks. For the operator only.

use axum::Json;
use entourage_api::{HealthRound, RunHealth};

use super::{Answer, Failures, Reserved};
use crate::{
    extract::{Caller, Filter, NoBody},
    routes::api_router::{ApiRouter, routes},
    views,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(run)).routes(routes!(run_monitor))
}

/// Do a round of health now
#[utoipa::path(
    post, path = "/v1/health", tag = "operations", operation_id = "runHealth",
    params(RunHealth),
    responses((status = 200, description = "What was done about which agent, and why.", body = HealthRound),
        Failures, Reserved)
)]
async fn run(caller: Caller, Filter(query): Filter<RunHealth>, _: NoBody) -> Answer<HealthRound> {
    Ok(Json(views::health_round(caller.client.run_health(query.dry_run.unwrap_or_default()).await?)))
}

/// Do a round of health now, by the name of goals and tasks
#[utoipa::path(
    post, path = "/api/health_monitor/run", tag = "operations", operation_id = "runHealthMonitor",
    params(RunHealth),
    responses((status = 200, description = "As `POST /v1/health`.", body = HealthRound), Failures, Reserved)
)]
async fn run_monitor(caller: Caller, query: Filter<RunHealth>, body: NoBody) -> Answer<HealthRound> {
    run(caller, query, body).await
}
