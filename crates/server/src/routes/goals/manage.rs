//! Goals: create, list, get, change, archive and delete them.

use axum::{
    Json,
    http::{StatusCode, header::LOCATION},
    response::{AppendHeaders, IntoResponse},
};
use entourage_api::{Page, PageQuery, schema};
use entourage_engine::{Client, GoalChange, NewGoal};
use entourage_types::{AgentId, Goal, GoalStatus};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey, NoBody, NoQuery},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views::goals::GoalView,
};

type GoalDocumentPage = Page<GoalView>;

/// So many goals of a page are looked at together.
const AT_ONCE: usize = 8;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, change, delete))
        .routes(routes!(archive))
        .routes(routes!(unarchive))
}

/// A goal to create.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CreateGoalDocument)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct CreateGoal {
    /// It in a few words, at most 200 characters on one line.
    #[schema(min_length = 1, pattern = r"\S")]
    title: String,
    /// What is to be reached.
    #[serde(default)]
    description: String,
    /// How its agent is to work.
    #[serde(default)]
    instructions: String,
}

/// A change of a goal. What is left out stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChangeGoalDocument)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct ChangeGoal {
    /// Its new title, at most 200 characters on one line.
    #[schema(min_length = 1, pattern = r"\S")]
    title: Option<String>,
    /// Its new description.
    description: Option<String>,
    /// Its new instructions.
    instructions: Option<String>,
}

/// Create a goal
#[utoipa::path(
    post, path = "/api/goals", tag = "goals", operation_id = "createGoalDocument",
    params(IdempotencyKey), request_body = CreateGoal,
    responses(
        (status = 201, description = "The goal.", body = GoalView,
         headers(("Location" = String, description = "The path of the goal."))),
        Failures, Conflict,
    )
)]
async fn create(
    caller: Caller,
    key: IdempotencyKey,
    Body(new): Body<CreateGoal>,
) -> Result<impl IntoResponse, Problem> {
    let CreateGoal { title, description, instructions } = new;
    let new = NewGoal { title, description, instructions };
    let goal = caller.client.create_goal(new, key.as_deref()).await?;
    let location = format!("/api/goals/{}", goal.agent);
    let document = shown(&caller.client, goal).await?;
    Ok((StatusCode::CREATED, AppendHeaders([(LOCATION, location)]), Json(document)))
}

/// List goals, newest first
#[utoipa::path(
    get, path = "/api/goals", tag = "goals", operation_id = "listGoalDocuments", params(PageQuery),
    responses((status = 200, description = "A page of goals.", body = GoalDocumentPage), Failures)
)]
async fn list(caller: Caller, Filter(query): Filter<PageQuery>) -> Answer<GoalDocumentPage> {
    let read = |rows| caller.client.goals(None, None, rows);
    let Page { data, next_cursor }: Page<Goal> = Paging::of(&query)?.narrowed(read).await?;
    let documents = stream::iter(data).map(|goal| shown(&caller.client, goal)).buffered(AT_ONCE);
    Ok(Json(Page { data: documents.try_collect().await?, next_cursor }))
}

/// Get a goal
#[utoipa::path(
    get, path = "/api/goals/{id}", tag = "goals", operation_id = "getGoalDocument",
    params(("id" = schema::GoalId, Path, description = "The goal.")),
    responses((status = 200, description = "The goal.", body = GoalView), Failures)
)]
async fn get(caller: Caller, Id(id): Id<AgentId>, _: NoQuery) -> Answer<GoalView> {
    let goal = caller.client.goal(id).await?;
    Ok(Json(shown(&caller.client, goal).await?))
}

/// Change a goal: its agent and those of its tasks read the change before their next model call
#[utoipa::path(
    put, path = "/api/goals/{id}", tag = "goals", operation_id = "changeGoalDocument",
    params(("id" = schema::GoalId, Path, description = "The goal.")), request_body = ChangeGoal,
    responses((status = 200, description = "The goal.", body = GoalView), Failures, Conflict)
)]
async fn change(caller: Caller, Id(id): Id<AgentId>, Body(change): Body<ChangeGoal>) -> Answer<GoalView> {
    let ChangeGoal { title, description, instructions } = change;
    changed(&caller.client, id, GoalChange { title, description, instructions, status: None }).await
}

/// Archive a goal: its agent takes no messages and its schedules are left out, until it is unarchived
///
/// What is under way comes to its end.
#[utoipa::path(
    post, path = "/api/goals/{id}/archive", tag = "goals", operation_id = "archiveGoal",
    params(("id" = schema::GoalId, Path, description = "The goal.")),
    responses((status = 200, description = "The goal.", body = GoalView), Failures)
)]
async fn archive(caller: Caller, Id(id): Id<AgentId>, _: NoBody) -> Answer<GoalView> {
    let status = Some(GoalStatus::Archived);
    changed(&caller.client, id, GoalChange { status, ..GoalChange::default() }).await
}

/// Take an archived goal up again
#[utoipa::path(
    post, path = "/api/goals/{id}/unarchive", tag = "goals", operation_id = "unarchiveGoal",
    params(("id" = schema::GoalId, Path, description = "The goal.")),
    responses((status = 200, description = "The goal.", body = GoalView), Failures)
)]
async fn unarchive(caller: Caller, Id(id): Id<AgentId>, _: NoBody) -> Answer<GoalView> {
    let status = Some(GoalStatus::Open);
    changed(&caller.client, id, GoalChange { status, ..GoalChange::default() }).await
}

/// Delete a goal: its agent and those of its tasks end for good
#[utoipa::path(
    delete, path = "/api/goals/{id}", tag = "goals", operation_id = "deleteGoalDocument",
    params(("id" = schema::GoalId, Path, description = "The goal.")),
    responses((status = 204, description = "The goal is deleted."), Failures)
)]
async fn delete(caller: Caller, Id(id): Id<AgentId>) -> Result<StatusCode, Problem> {
    caller.client.delete_goal(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn changed(client: &Client, id: AgentId, change: GoalChange) -> Answer<GoalView> {
    let goal = client.change_goal(id, change).await?;
    Ok(Json(shown(client, goal).await?))
}

async fn shown(client: &Client, goal: Goal) -> Result<GoalView, Problem> {
    let agent = client.agent(goal.agent).await?;
    let is_at_work = client.is_at_work(&agent).await?;
    Ok(GoalView::of(goal, is_at_work))
}
