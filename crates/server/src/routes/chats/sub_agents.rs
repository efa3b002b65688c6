//! The sub-agents of a chat: where they stand, their own history, their calls of tools.

use axum::Json;
use entourage_engine::{Client, ItemQuery, Page as Rows};
use entourage_types::{Agent, AgentId, Item, ItemBody};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures, chat};
use crate::{
    Problem,
    extract::{Caller, Filter, Id},
    page::{BYTES, List, Page, PageQuery},
    state::Served,
    views::{
        chats::{Family, SubAgentMessageView, SubAgentView, ToolCallDocument, documents, tool_calls},
        schema,
    },
};

type SubAgentList = List<SubAgentView>;
type SubAgentMessagePage = Page<SubAgentMessageView>;
type ToolCallPage = Page<ToolCallDocument>;

/// More items than lie between a turn and the last output of its calls.
const OUTPUTS: u32 = 256;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(messages))
        .routes(routes!(calls))
}

/// An agent that is not the top of its tree.
async fn sub_agent(client: &Client, id: AgentId) -> Result<Agent, Problem> {
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
    let family = Family::read(&caller.client, agent.root).await?;
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

/// List a sub-agent's calls of tools (`sub_agent_tool_calls`): the last of them, oldest first
///
/// A page tells of `limit` items; what was asked for before is on the next one.
#[utoipa::path(
    get, path = "/api/sub-agents/{id}/tool-calls", tag = "chats", operation_id = "listToolCalls",
    params(("id" = schema::SubAgentId, Path, description = "The sub-agent."), PageQuery),
    responses((status = 200, description = "A page of calls.", body = ToolCallPage), Failures)
)]
async fn calls(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<ToolCallPage> {
    let client = &caller.client;
    sub_agent(client, id).await?;
    let paging = query.paging()?;
    let (before, _) = paging.items()?;
    let last = client.runs(id, Rows { limit: 1, newest_first: true, ..Rows::default() }).await?;
    let steps = match last.first() {
        Some(run) if !run.status.is_terminal() => client.steps(run.id).await?,
        _ => Vec::new(),
    };
    // Items after steps: what has joined the transcript meanwhile is there.
    let mut items = client.transcript_part(paging.items_of(id)?).await?;
    let next = beginning(&items);
    if let Some(before) = before {
        // The calls of the last turn may have their outputs on the page after this.
        let behind = ItemQuery { bytes: BYTES, ..ItemQuery::of(id, before, OUTPUTS) };
        let behind = client.transcript_part(behind).await?;
        items.extend(behind.into_iter().take_while(|item| !matches!(item.body, ItemBody::Turn(_))));
    }
    Ok(Json(Page::of_items(tool_calls(&items, &steps), next)))
}

/// The number of the first of these items, where others stand before it.
fn beginning(items: &[Item]) -> Option<u64> {
    items.first().map(|first| first.seq).filter(|first| *first > 0)
}
