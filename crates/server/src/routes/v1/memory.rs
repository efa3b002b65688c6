//! What agents remember.

use axum::Json;
use entourage_api::{Context, Learning, List, Page, PageQuery, Session, schema};
use entourage_types::AgentId;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Filter, Id},
    page::Paging,
    state::AppState,
    views,
};

type LearningList = List<Learning>;
type SessionPage = Page<Session>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(learnings)).routes(routes!(sessions)).routes(routes!(context))
}

/// List the learnings of an agent that still hold, oldest first
#[utoipa::path(
    get, path = "/v1/agents/{id}/learnings", tag = "memory", operation_id = "listLearnings",
    params(("id" = schema::AgentId, Path, description = "The agent.")),
    responses((status = 200, description = "All learnings.", body = LearningList), Failures)
)]
async fn learnings(caller: Caller, Id(id): Id<AgentId>) -> Answer<LearningList> {
    Ok(Json(caller.client.learnings(id).await?.into_iter().map(Learning::from).collect()))
}

/// List the closed sessions of an agent, newest first
#[utoipa::path(
    get, path = "/v1/agents/{id}/sessions", tag = "memory", operation_id = "listSessions",
    params(("id" = schema::AgentId, Path, description = "The agent."), PageQuery),
    responses((status = 200, description = "A page of sessions.", body = SessionPage), Failures)
)]
async fn sessions(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<SessionPage> {
    let paging = Paging::of(&query)?;
    let read = |rows| caller.client.sessions(id, rows);
    Ok(Json(paging.read(read, |session| session.id.to_string()).await?))
}

/// Show what an agent's model sees, block by block
#[utoipa::path(
    get, path = "/v1/agents/{id}/context", tag = "memory", operation_id = "getContext",
    params(("id" = schema::AgentId, Path, description = "The agent.")),
    responses((status = 200, description = "Each block with its tokens, their cached share and cost.",
        body = Context), Failures)
)]
async fn context(caller: Caller, Id(id): Id<AgentId>) -> Answer<Context> {
    Ok(Json(views::context(caller.client.context(id).await?)))
}
