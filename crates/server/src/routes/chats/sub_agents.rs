//! The sub-agents of a chat: where they stand, and their own history.

use std::collections::HashSet;

use axum::Json;
use entourage_engine::Client;
use entourage_types::{Agent, AgentId, Item};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures, chat};
use crate::{
    Problem,
    extract::{Caller, Filter, Id},
    page::{List, Page, PageQuery},
    state::Served,
    views::{
        chats::{Family, SubAgentMessageView, SubAgentView, documents},
        schema,
    },
};

type SubAgentList = List<SubAgentView>;
type SubAgentMessagePage = Page<SubAgentMessageView>;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(get)).routes(routes!(messages))
}

/// An agent that is not the top of its tree.
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
    responses((status = 200, description = "All of them.", body = SubAgentList), Failures)
)]
async fn list(caller: Caller, Id(id): Id<AgentId>) -> Answer<SubAgentList> {
    chat(&caller.client, id).await?;
    let family = Family::read(&caller.client, id).await?;
    Ok(Json(List::of(family.sub_agents().into_iter().map(|agent| SubAgentView::of(agent, &family)))))
}

/// Get a sub-agent
#[utoipa::path(
    get, path = "/api/sub-agents/{id}", tag = "chats", operation_id = "getSubAgent",
    params(("id" = schema::SubAgentId, Path, description = "The sub-agent.")),
    responses((status = 200, description = "The sub-agent.", body = SubAgentView), Failures)
)]
async fn get(caller: Caller, Id(id): Id<AgentId>) -> Answer<SubAgentView> {
    let agent = sub_agent(&caller.client, id).await?;
    let tasks = Family::latest_tasks(&caller.client, agent.root, HashSet::from([id])).await?;
    let family = Family::with(&caller.client, agent.root, tasks).await?;
    Ok(Json(SubAgentView::of(family.get(id).unwrap_or(&agent), &family)))
}

/// Read a sub-agent's own history (`sub_agent_messages`): the last of it, oldest first
///
/// A page tells of `limit` items; what was before is on the next one, and the system message on the last.
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
    // Items first: a question that an answer is of is there by then.
    let items = client.transcript_part(query.paging()?.items_of(id)?).await?;
    let questions = client.questions_of(id).await?;
    let next = beginning(&items);
    let mut told = documents(&items, &questions);
    if next.is_none() {
        let kind = client.kind_of(&agent).await?;
        told.insert(0, SubAgentMessageView::system(&agent, &kind.instructions));
    }
    Ok(Json(Page::of_items(told, next)))
}

/// The number of the first of these items, where others stand before it.
pub(super) fn beginning(items: &[Item]) -> Option<u64> {
    items.first().map(|first| first.seq).filter(|first| *first > 0)
}
