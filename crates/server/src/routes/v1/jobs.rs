//! Maintenance: what its jobs found and did, and running one now. For the operator only.

use axum::Json;
use entourage_api::{Inconsistency, Job, List};

use super::{Answer, Failures, Reserved};
use crate::{
    extract::{Caller, Id},
    routes::api_router::{ApiRouter, routes},
    views,
};

type JobList = List<Job>;
type InconsistencyList = List<Inconsistency>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(list)).routes(routes!(run)).routes(routes!(inconsistencies))
}

/// List the maintenance jobs, each with its last run
#[utoipa::path(
    get, path = "/v1/jobs", tag = "operations", operation_id = "listJobs",
    responses((status = 200, description = "All jobs, in the order in which they run.", body = JobList),
        Failures, Reserved)
)]
pub(crate) async fn list(caller: Caller) -> Answer<JobList> {
    Ok(Json(caller.client.jobs().await?.into_iter().map(views::job).collect()))
}

/// Run a job now: find inconsistencies and repair them
#[utoipa::path(
    post, path = "/v1/jobs/{name}/run", tag = "operations", operation_id = "runJob",
    params(("name" = String, Path, description = "The job's name.", max_length = 255)),
    responses((status = 200, description = "The run, which has ended.", body = Job), Failures, Reserved)
)]
pub(crate) async fn run(caller: Caller, Id(name): Id<String>) -> Answer<Job> {
    Ok(Json(views::job(caller.client.run_job(&name).await?)))
}

/// List the inconsistencies that a job would find now, without changing anything
#[utoipa::path(
    get, path = "/v1/jobs/{name}/inconsistencies", tag = "operations", operation_id = "findInconsistencies",
    params(("name" = String, Path, description = "The job's name.", max_length = 255)),
    responses((status = 200, description = "All inconsistencies.", body = InconsistencyList), Failures, Reserved)
)]
async fn inconsistencies(caller: Caller, Id(name): Id<String>) -> Answer<InconsistencyList> {
    Ok(Json(caller.client.inconsistencies(&name).await?.into_iter().map(views::inconsistency).collect()))
}
