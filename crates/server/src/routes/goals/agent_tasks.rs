//! Tasks that a goal's agent, or the user agent, created: list them, get one.

use axum::Json;
use entourage_api::{Page, schema};
use entourage_engine::{Client, Error};
use entourage_types::{AgentId, Goal, Task, TaskId};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Answer, Failures, agent_task, goal, user_agent};
use crate::{
    Problem,
    extract::{Caller, Filter, Id, NoQuery},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views::goals::AgentTaskView,
};

type AgentTaskPage = Page<AgentTaskView>;

/// So many tasks of a page are looked at together.
const AT_ONCE: usize = 8;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(list)).routes(routes!(get))
}

/// Which tasks, newest first.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListAgentTasks {
    /// The goal; without it, the tasks of the user agent.
    #[param(value_type = Option<schema::AgentId>)]
    goal_id: Option<AgentId>,
    /// How many to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// List the tasks of a goal, or of the user agent, newest first
#[utoipa::path(
    get, path = "/api/agent_tasks", tag = "goals", operation_id = "listAgentTasks", params(ListAgentTasks),
    responses((status = 200, description = "A page of tasks.", body = AgentTaskPage), Failures)
)]
async fn list(caller: Caller, Filter(query): Filter<ListAgentTasks>) -> Answer<AgentTaskPage> {
    let ListAgentTasks { goal_id, limit, cursor } = query;
    let client = &caller.client;
    let of = match goal_id {
        Some(id) => goal(client, id).await?.1,
        None => user_agent(client).await?,
    };
    let read = |rows| client.goal_tasks(of.agent, rows);
    let paging = Paging::new(limit, cursor.as_deref())?;
    let Page { data, next_cursor }: Page<Task> = paging.read(read, |task| task.id.to_string()).await?;
    let documents = stream::iter(data).map(|task| shown(client, task, goal_id)).buffered(AT_ONCE);
    Ok(Json(Page { data: documents.try_collect().await?, next_cursor }))
}

/// Get a task
#[utoipa::path(
    get, path = "/api/agent_tasks/{id}", tag = "goals", operation_id = "getAgentTask",
    params(("id" = schema::TaskId, Path, description = "The task.")),
    responses((status = 200, description = "The task.", body = AgentTaskView), Failures)
)]
async fn get(caller: Caller, Id(id): Id<TaskId>, _: NoQuery) -> Answer<AgentTaskView> {
    let (task, _) = agent_task(&caller.client, id).await?;
    let goal = match caller.client.record::<Goal>(task.from).await {
        Ok(goal) => Some(goal.agent),
        Err(Error::NotFound { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Json(shown(&caller.client, task, goal).await?))
}

async fn shown(client: &Client, task: Task, goal: Option<AgentId>) -> Result<AgentTaskView, Problem> {
    let waiting_on = match task.status.is_terminal() {
        true => None,
        false => client.agent(task.to).await?.waiting_on,
    };
    let run = match task.run {
        Some(run) => match client.run(run).await {
            Ok(run) => Some(run),
            // It was forgotten.
            Err(Error::NotFound { .. }) => None,
            Err(error) => return Err(error.into()),
        },
        None => None,
    };
    Ok(AgentTaskView::of(task, goal, waiting_on, run.as_ref()))
}
