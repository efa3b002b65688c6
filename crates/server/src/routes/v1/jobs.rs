//! The upkeep: what its jobs found and did, and having one done now. For the operator alone.

use axum::Json;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures, Reserved};
use crate::{
    extract::{Caller, Id},
    page::List,
    state::Served,
    views::{DamageView, JobView},
};

type JobList = List<JobView>;
type DamageList = List<DamageView>;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(run)).routes(routes!(damages))
}

/// List the jobs of the upkeep, each with its last round
#[utoipa::path(
    get, path = "/v1/jobs", tag = "operations", operation_id = "listJobs",
    responses((status = 200, description = "All jobs, in the order in which they are done.", body = JobList),
        Failures, Reserved)
)]
async fn list(caller: Caller) -> Answer<JobList> {
    Ok(Json(List::of(caller.client.jobs().await?)))
}

/// Do a round of a job now: find what is wrong, and mend it
#[utoipa::path(
    post, path = "/v1/jobs/{name}/run", tag = "operations", operation_id = "runJob",
    params(("name" = String, Path, description = "The job's name.", max_length = 255)),
    responses((status = 200, description = "The round, which is over.", body = JobView), Failures, Reserved)
)]
async fn run(caller: Caller, Id(name): Id<String>) -> Answer<JobView> {
    Ok(Json(caller.client.run_job(&name).await?.into()))
}

/// Look for what a job would find at this moment, and change nothing
#[utoipa::path(
    get, path = "/v1/jobs/{name}/damages", tag = "operations", operation_id = "findDamages",
    params(("name" = String, Path, description = "The job's name.", max_length = 255)),
    responses((status = 200, description = "Everything that it finds.", body = DamageList), Failures, Reserved)
)]
async fn damages(caller: Caller, Id(name): Id<String>) -> Answer<DamageList> {
    Ok(Json(List::of(caller.client.damages(&name).await?)))
}
