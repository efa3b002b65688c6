//! What an operator sees of an agent of whatever owner. For the operator only: users see messages, and never what a model
//! has read.

use axum::Json;
use entourage_api::schema;
use entourage_engine::{Client, Error, ItemQuery, Page as Rows};
use entourage_types::{AgentId, Item, ItemBody, Run, TaskId};

use super::{Answer, Failures, Reserved, agent_task, goal, user_agent};
use crate::{
    extract::{Caller, Id},
    routes::api_router::{ApiRouter, routes},
    views::goals::{Agentable, InspectionView},
};

/// How many items of the last run are read: enough for its last turn, if that has no calls.
const END: u32 = 16;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(of_goal)).routes(routes!(of_task)).routes(routes!(of_user_agent))
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
    let last_run = last_run(client, of.agent).await?;
    Ok(Json(InspectionView::new((of.sort, of.id), &agent, &items, set, learnings, last_run)))
}

/// The last run of an agent that worked on something, with its last items: none that closed a session, which writes
/// nothing but the summary and follows one that worked.
async fn last_run(client: &Client, agent: AgentId) -> Result<Option<(Run, Vec<Item>)>, Error> {
    let latest = Rows { newest_first: true, limit: 2, ..Rows::default() };
    for run in client.runs(agent, latest).await? {
        let end = ItemQuery { run: Some(run.id), before: Some(u64::MAX), ..ItemQuery::of(agent, 0, END) };
        let items = client.transcript_part(end).await?;
        let is_closing =
            !items.is_empty() && items.iter().all(|item| matches!(item.body, ItemBody::Digest(_)));
        if !is_closing {
            return Ok(Some((run, items)));
        }
    }
    Ok(None)
}
