//! What agents remember.

use axum::Json;
use entourage_api::{Context, FindLearnings, FindSessions, Learning, List, Page, PageQuery, Session, schema};
use entourage_types::AgentId;

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Filter, Id},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views,
};

type LearningList = List<Learning>;
type LearningPage = Page<Learning>;
type SessionPage = Page<Session>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(learnings))
        .routes(routes!(sessions))
        .routes(routes!(all_sessions))
        .routes(routes!(all_learnings))
        .routes(routes!(context))
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

/// List the closed sessions of all your agents, newest first
///
/// With words that few of many have, a page has fewer entries, or none; the next page goes on from there.
#[utoipa::path(
    get, path = "/v1/sessions", tag = "memory", operation_id = "listAllSessions", params(FindSessions),
    responses((status = 200, description = "A page of sessions.", body = SessionPage), Failures)
)]
pub(crate) async fn all_sessions(caller: Caller, Filter(query): Filter<FindSessions>) -> Answer<SessionPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    Ok(Json(paging.narrowed(|page| caller.client.find_sessions(query.agent, query.text, page)).await?))
}

/// List the learnings of all your agents, newest first
///
/// With words that few of many have, a page has fewer entries, or none; the next page goes on from there.
#[utoipa::path(
    get, path = "/v1/learnings", tag = "memory", operation_id = "listAllLearnings", params(FindLearnings),
    responses((status = 200, description = "A page of learnings.", body = LearningPage), Failures)
)]
pub(crate) async fn all_learnings(
    caller: Caller,
    Filter(query): Filter<FindLearnings>,
) -> Answer<LearningPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let FindLearnings { root, status, text, .. } = query;
    Ok(Json(paging.narrowed(|page| caller.client.find_learnings(root, status, text, page)).await?))
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
