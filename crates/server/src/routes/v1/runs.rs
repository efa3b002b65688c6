//! Runs: what an agent did, step by step, and the usage of its tree.

use axum::Json;
use entourage_api::{ListRuns, ModelRequest, Page, PageQuery, Run, Step, TreeUsage, schema};
use entourage_engine::{Page as Rows, RunFilter};
use entourage_types::{AgentId, RunId};

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Filter, Id, Names},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views,
};

type RunPage = Page<Run>;
type StepPage = Page<Step>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(all))
        .routes(routes!(get))
        .routes(routes!(steps))
        .routes(routes!(request))
        .routes(routes!(usage))
}

/// List the runs of an agent, newest first
#[utoipa::path(
    get, path = "/v1/agents/{id}/runs", tag = "runs", operation_id = "listRuns",
    params(("id" = schema::AgentId, Path, description = "The agent."), PageQuery),
    responses((status = 200, description = "A page of runs.", body = RunPage), Failures)
)]
pub(crate) async fn list(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<RunPage> {
    let paging = Paging::of(&query)?;
    let read = |rows| caller.client.runs(id, rows);
    Ok(Json(paging.read(read, |run| run.id.to_string()).await?))
}

/// List runs of all your agents, newest first
///
/// With conditions that few of many runs fit, a page has fewer entries, or none; the next page goes on from there.
#[utoipa::path(
    get, path = "/v1/runs", tag = "runs", operation_id = "listAllRuns", params(ListRuns),
    responses((status = 200, description = "A page of runs.", body = RunPage), Failures)
)]
pub(crate) async fn all(caller: Caller, Filter(query): Filter<ListRuns>) -> Answer<RunPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let ListRuns { root, agent, kind, version, status, stop_reason, .. } = query;
    let of = |page| RunFilter { root, agent, kind, version, status, stop_reason, page };
    Ok(Json(paging.narrowed(|page| caller.client.find_runs(of(page))).await?))
}

/// Get a run
#[utoipa::path(
    get, path = "/v1/runs/{id}", tag = "runs", operation_id = "getRun",
    params(("id" = schema::RunId, Path, description = "The run.")),
    responses((status = 200, description = "The run.", body = Run), Failures)
)]
pub(crate) async fn get(caller: Caller, Id(id): Id<RunId>) -> Answer<Run> {
    Ok(Json(caller.client.run(id).await?.into()))
}

/// List the steps of a run, in the order in which they began
#[utoipa::path(
    get, path = "/v1/runs/{id}/steps", tag = "runs", operation_id = "listSteps",
    params(("id" = schema::RunId, Path, description = "The run."), PageQuery),
    responses((status = 200, description = "A page of steps.", body = StepPage), Failures)
)]
pub(crate) async fn steps(
    caller: Caller,
    Id(id): Id<RunId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<StepPage> {
    let read = |rows| caller.client.steps_page(id, Rows { newest_first: false, ..rows });
    Ok(Json(Paging::of(&query)?.read(read, |step| step.key.to_string()).await?))
}

/// Get what a model received in one call of a run
#[utoipa::path(
    get, path = "/v1/runs/{id}/requests/{n}", tag = "runs", operation_id = "getRequest",
    params(
        ("id" = schema::RunId, Path, description = "The run."),
        ("n" = u32, Path, description = "Which turn of the run, from 1.")
    ),
    responses((status = 200, description = "The request, rebuilt from what is stored; `exact` says whether the \
        digest of what was sent proves it.", body = ModelRequest), Failures)
)]
pub(crate) async fn request(caller: Caller, Names(id, number): Names) -> Answer<ModelRequest> {
    let unknown = || entourage_engine::Error::NotFound { noun: "request", id: format!("{id}/{number}") };
    let (id, number) = (id.parse().map_err(|_| unknown())?, number.parse().map_err(|_| unknown())?);
    Ok(Json(views::request(caller.client.request(id, number).await?)))
}

/// Get the usage of the whole tree of an agent
#[utoipa::path(
    get, path = "/v1/agents/{id}/usage", tag = "runs", operation_id = "getUsage",
    params(("id" = schema::AgentId, Path, description = "Any agent of the tree.")),
    responses((status = 200, description = "The sum.", body = TreeUsage), Failures)
)]
async fn usage(caller: Caller, Id(id): Id<AgentId>) -> Answer<TreeUsage> {
    let root = caller.client.agent(id).await?.root;
    Ok(Json(views::tree_usage(root, &caller.client.tree_usage(root).await?)))
}
