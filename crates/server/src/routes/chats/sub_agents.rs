//! The sub-agents of a chat: their status, and their own history.

use std::collections::HashSet;

use axum::Json;
use entourage_api::{List, Page, PageQuery, schema};
use entourage_engine::Client;
use entourage_types::{Agent, AgentId, Item};

use super::{Answer, Failures, chat};
use crate::{
    Problem,
    extract::{Caller, Filter, Id},
    page::{Paging, page_of},
    routes::api_router::{ApiRouter, routes},
    views::chats::{SubAgentMessageView, SubAgentView, TreeIndex, documents},
};

type SubAgentList = List<SubAgentView>;
type SubAgentMessagePage = Page<SubAgentMessageView>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(list)).routes(routes!(get)).routes(routes!(messages))
}

/// Returns an agent that is not the root of its tree.
pub(super) async fn sub_agent(client: &Client, id: AgentId) -> Result<Agent, Problem> {
    let agent = client.agent(id).await?;
    match agent.parent {
        Some(_) => Ok(agent),
        None => Err(Problem::not_found(format!("there is no sub-agent `{id}`"))),
    }
}

/// List the sub-agents of a chat, oldest first
#[utoipa::path(
    get, path = "/api/chats/{id}/sub-agents", tag = "chats", operation_id = "listSubAgents",
    params(("id" = schema::ChatId, Path, description = "The chat.")),
    responses((status = 200, description = "All sub-agents.", body = SubAgentList), Failures)
)]
async fn list(caller: Caller, Id(id): Id<AgentId>) -> Answer<SubAgentList> {
    chat(&caller.client, id).await?;
    let tree = TreeIndex::read(&caller.client, id).await?;
    Ok(Json(tree.sub_agents().into_iter().map(|agent| SubAgentView::of(agent, &tree)).collect()))
}

/// Get a sub-agent
#[utoipa::path(
    get, path = "/api/sub-agents/{id}", tag = "chats", operation_id = "getSubAgent",
    params(("id" = schema::SubAgentId, Path, description = "The sub-agent.")),
    responses((status = 200, description = "The sub-agent.", body = SubAgentView), Failures)
)]
async fn get(caller: Caller, Id(id): Id<AgentId>) -> Answer<SubAgentView> {
    let agent = sub_agent(&caller.client, id).await?;
    let tasks = TreeIndex::latest_tasks(&caller.client, agent.root, HashSet::from([id])).await?;
    let tree = TreeIndex::with(&caller.client, agent.root, tasks).await?;
    Ok(Json(SubAgentView::of(tree.get(id).unwrap_or(&agent), &tree)))
}

/// List a sub-agent's own messages (`sub_agent_messages`): the latest ones, oldest first
///
/// A page covers `limit` items of the transcript; earlier ones are on the next page, and the system message
/// is on the last page.
#[utoipa::path(
    get, path = "/api/sub-agents/{id}/messages", tag = "chats", operation_id = "listSubAgentMessages",
    params(("id" = schema::SubAgentId, Path, description = "The sub-agent."), PageQuery),
    responses((status = 200, description = "A page of the history.", body = SubAgentMessagePage), Failures)
)]
async fn messages(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<SubAgentMessagePage> {
    let client = &caller.client;
    let agent = sub_agent(client, id).await?;
    // Items first, so that the question of each answer among them is in the store when questions are read.
    let items = client.transcript_part(Paging::of(&query)?.items_of(id)?).await?;
    let questions = client.questions_of(id).await?;
    let next = beginning(&items);
    let mut told = documents(&items, &questions);
    if next.is_none() {
        let kind = client.kind_of(&agent).await?;
        told.insert(0, SubAgentMessageView::system(&agent, &kind.instructions));
    }
    Ok(Json(page_of(told, next)))
}

/// The number of the first of these items, if others precede it.
pub(super) fn beginning(items: &[Item]) -> Option<u64> {
    items.first().map(|first| first.seq).filter(|first| *first > 0)
}
