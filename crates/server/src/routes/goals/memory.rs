//! What belongs to a goal and is kept: its notes, and what its agent has learned.

use axum::Json;
use entourage_api::{Learning, List, Note, Page, PageQuery, schema};
use entourage_types::AgentId;

use super::{Answer, Failures, goal};
use crate::{
    extract::{Caller, Filter, Id},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
};

type NotePage = Page<Note>;
type LearningList = List<Learning>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(notes)).routes(routes!(learnings))
}

/// List the notes of a goal, newest first: those of its agent and of its tasks
#[utoipa::path(
    get, path = "/api/goals/{id}/notes", tag = "goals", operation_id = "listGoalNotes",
    params(("id" = schema::GoalId, Path, description = "The goal."), PageQuery),
    responses((status = 200, description = "A page of notes.", body = NotePage), Failures)
)]
async fn notes(caller: Caller, Id(id): Id<AgentId>, Filter(query): Filter<PageQuery>) -> Answer<NotePage> {
    goal(&caller.client, id).await?;
    let read = |rows| caller.client.find_notes(Some(id), None, rows);
    Ok(Json(Paging::of(&query)?.narrowed(read).await?))
}

/// List what the agent of a goal has learned, oldest first
#[utoipa::path(
    get, path = "/api/goals/{id}/learnings", tag = "goals", operation_id = "listGoalLearnings",
    params(("id" = schema::GoalId, Path, description = "The goal.")),
    responses((status = 200, description = "What it has learned and still holds.", body = LearningList), Failures)
)]
async fn learnings(caller: Caller, Id(id): Id<AgentId>) -> Answer<LearningList> {
    goal(&caller.client, id).await?;
    Ok(Json(caller.client.learnings(id).await?.into_iter().map(Learning::from).collect()))
}
