//! Goals: create, list, change and delete them; their tasks, and the agent that belongs to the user and to no goal.

use axum::{
    Json,
    http::{StatusCode, header::LOCATION},
    response::{AppendHeaders, IntoResponse},
};
use entourage_api::{Agent, ChangeGoal, CreateGoal, Goal, ListGoals, Page, PageQuery, Task, schema};
use entourage_engine::{GoalChange, NewGoal};
use entourage_types::AgentId;

use super::{Answer, Conflict, Failures, agents};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey, NoQuery},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
};

type GoalPage = Page<Goal>;
type TaskPage = Page<Task>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, change, delete))
        .routes(routes!(tasks))
        .routes(routes!(user_agent))
}

/// Create a goal, with the agent that works towards it
///
/// The agent waits for a message: `POST /v1/agents/{id}/messages`.
#[utoipa::path(
    post, path = "/v1/goals", tag = "goals", operation_id = "createGoal",
    params(IdempotencyKey),
    request_body = CreateGoal,
    responses(
        (status = 201, description = "The goal.", body = Goal,
         headers(("Location" = String, description = "The path of the goal."))),
        Failures, Conflict,
    )
)]
async fn create(
    caller: Caller,
    key: IdempotencyKey,
    Body(new): Body<CreateGoal>,
) -> Result<impl IntoResponse, Problem> {
    let goal = created(&caller, &key, new).await?;
    let location = format!("/v1/goals/{}", goal.agent);
    Ok((StatusCode::CREATED, AppendHeaders([(LOCATION, location)]), Json(goal)))
}

/// Creates a goal.
pub(crate) async fn created(caller: &Caller, key: &IdempotencyKey, new: CreateGoal) -> Result<Goal, Problem> {
    let CreateGoal { title, description, instructions } = new;
    let new = NewGoal { title, description, instructions };
    Ok(caller.client.create_goal(new, key.as_deref()).await?.into())
}

/// List goals, newest first
///
/// Where few of many goals are in the status or have the words, a page has fewer entries, or none; the next page goes on from there.
#[utoipa::path(
    get, path = "/v1/goals", tag = "goals", operation_id = "listGoals", params(ListGoals),
    responses((status = 200, description = "A page of goals.", body = GoalPage), Failures)
)]
pub(crate) async fn list(caller: Caller, Filter(query): Filter<ListGoals>) -> Answer<GoalPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let ListGoals { status, text, .. } = query;
    Ok(Json(paging.narrowed(|page| caller.client.goals(status, text, page)).await?))
}

/// Get a goal
#[utoipa::path(
    get, path = "/v1/goals/{id}", tag = "goals", operation_id = "getGoal",
    params(("id" = schema::GoalId, Path, description = "The goal, by its agent.")),
    responses((status = 200, description = "The goal.", body = Goal), Failures)
)]
pub(crate) async fn get(caller: Caller, Id(id): Id<AgentId>, _: NoQuery) -> Answer<Goal> {
    Ok(Json(caller.client.goal(id).await?.into()))
}

/// Change a goal, put it away, or take it up again
///
/// Its agent and the agents of its tasks read a change before their next model call.
#[utoipa::path(
    put, path = "/v1/goals/{id}", tag = "goals", operation_id = "changeGoal",
    params(("id" = schema::GoalId, Path, description = "The goal, by its agent.")),
    request_body = ChangeGoal,
    responses((status = 200, description = "The goal.", body = Goal), Failures)
)]
pub(crate) async fn change(
    caller: Caller,
    Id(id): Id<AgentId>,
    Body(change): Body<ChangeGoal>,
) -> Answer<Goal> {
    let ChangeGoal { title, description, instructions, status } = change;
    let change = GoalChange { title, description, instructions, status };
    Ok(Json(caller.client.change_goal(id, change).await?.into()))
}

/// Delete a goal: its agent and the agents of its tasks end where they are
#[utoipa::path(
    delete, path = "/v1/goals/{id}", tag = "goals", operation_id = "deleteGoal",
    params(("id" = schema::GoalId, Path, description = "The goal, by its agent.")),
    responses((status = 204, description = "The goal is deleted."), Failures)
)]
pub(crate) async fn delete(caller: Caller, Id(id): Id<AgentId>) -> Result<StatusCode, Problem> {
    caller.client.delete_goal(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the tasks that the agent of a goal, or the user agent, has created, newest first
#[utoipa::path(
    get, path = "/v1/goals/{id}/tasks", tag = "goals", operation_id = "listGoalTasks",
    params(("id" = schema::GoalId, Path, description = "The goal, by its agent."), PageQuery),
    responses((status = 200, description = "A page of tasks.", body = TaskPage), Failures)
)]
pub(crate) async fn tasks(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<TaskPage> {
    let read = |rows| caller.client.goal_tasks(id, rows);
    Ok(Json(Paging::of(&query)?.read(read, |task| task.id.to_string()).await?))
}

/// Get the caller's user agent, which is created when it is asked for first
#[utoipa::path(
    get, path = "/v1/user_agent", tag = "goals", operation_id = "getUserAgent",
    responses((status = 200, description = "The agent.", body = Agent), Failures)
)]
pub(crate) async fn user_agent(caller: Caller, _: NoQuery) -> Answer<Agent> {
    let agent = caller.client.user_agent().await?;
    Ok(Json(agents::shown(&caller.client, agent).await?))
}
