//! What an operator sees of an agent of whatever owner. For the operator only: users see messages, and never what a model
//! has read.

use axum::Json;
use entourage_api::schema;
use entourage_engine::{Client, Page as Rows};
use entourage_types::{AgentId, TaskId};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures, Reserved, agent_task, goal, user_agent};
use crate::{
    extract::{Caller, Id},
    state::AppState,
    views::goals::{Agentable, InspectionView},
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(of_goal)).routes(routes!(of_task)).routes(routes!(of_user_agent))
}

/// Inspect the agent of a goal
#[utoipa::path(
    get, path = "/api/goals/{id}/inspect", tag = "goals", operation_id = "inspectGoal",
    params(("id" = schema::GoalId, Path, description = "The goal.")),
    responses((status = 200, description = "What it is and does.", body = InspectionView), Failures, Reserved)
)]
async fn of_goal(caller: Caller, Id(id): Id<AgentId>) -> Answer<InspectionView> {
    let client = caller.client.of_all_owners(INSPECT)?;
    let (_, of) = goal(&client, id).await?;
    inspect(&client, of).await
}

/// Inspect the agent of a task
#[utoipa::path(
    get, path = "/api/agent_tasks/{id}/inspect", tag = "goals", operation_id = "inspectAgentTask",
    params(("id" = schema::TaskId, Path, description = "The task.")),
    responses((status = 200, description = "What it is and does.", body = InspectionView), Failures, Reserved)
)]
async fn of_task(caller: Caller, Id(id): Id<TaskId>) -> Answer<InspectionView> {
    let client = caller.client.of_all_owners(INSPECT)?;
    let (_, of) = agent_task(&client, id).await?;
    inspect(&client, of).await
}

/// Inspect the operator's own user agent
#[utoipa::path(
    get, path = "/api/user_agent/inspect", tag = "goals", operation_id = "inspectUserAgent",
    responses((status = 200, description = "What it is and does.", body = InspectionView), Failures, Reserved)
)]
async fn of_user_agent(caller: Caller) -> Answer<InspectionView> {
    caller.client.check_operator(INSPECT)?;
    let of = user_agent(&caller.client).await?;
    inspect(&caller.client, of).await
}

/// What the caller wants, where it may not.
const INSPECT: &str = "inspect agents";

async fn inspect(client: &Client, of: Agentable) -> Answer<InspectionView> {
    let agent = client.agent(of.agent).await?;
    let items = client.session_items(&agent).await?;
    let set = client.metadata(&agent).await?;
    let learnings = client.learnings(of.agent).await?;
    let last = Rows { newest_first: true, limit: 1, ..Rows::default() };
    let run = client.runs(of.agent, last).await?.pop();
    Ok(Json(InspectionView::new((of.sort, of.id), &agent, &items, set, learnings, run)))
}
