//! Maintenance: what its jobs found and did, and running one now. For the operator only.

use axum::Json;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures, Reserved};
use crate::{
    extract::{Caller, Id},
    page::List,
    state::AppState,
    views::{InconsistencyView, JobView},
};

type JobList = List<JobView>;
type InconsistencyList = List<InconsistencyView>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(run)).routes(routes!(inconsistencies))
}

/// List the maintenance jobs, each with its last run
#[utoipa::path(
    get, path = "/v1/jobs", tag = "operations", operation_id = "listJobs",
    responses((status = 200, description = "All jobs, in the order in which they run.", body = JobList),
        Failures, Reserved)
)]
async fn list(caller: Caller) -> Answer<JobList> {
    Ok(Json(List::of(caller.client.jobs().await?)))
}

/// Run a job now: find inconsistencies and repair them
#[utoipa::path(
    post, path = "/v1/jobs/{name}/run", tag = "operations", operation_id = "runJob",
    params(("name" = String, Path, description = "The job's name.", max_length = 255)),
    responses((status = 200, description = "The run, which has ended.", body = JobView), Failures, Reserved)
)]
async fn run(caller: Caller, Id(name): Id<String>) -> Answer<JobView> {
    Ok(Json(caller.client.run_job(&name).await?.into()))
}

/// List the inconsistencies that a job would find now, without changing anything
#[utoipa::path(
    get, path = "/v1/jobs/{name}/inconsistencies", tag = "operations", operation_id = "findInconsistencies",
    params(("name" = String, Path, description = "The job's name.", max_length = 255)),
    responses((status = 200, description = "All inconsistencies.", body = InconsistencyList), Failures, Reserved)
)]
async fn inconsistencies(caller: Caller, Id(name): Id<String>) -> Answer<InconsistencyList> {
    Ok(Json(List::of(caller.client.inconsistencies(&name).await?)))
}
