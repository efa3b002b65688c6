//! The sub-agents of a chat: where they stand, their own history, their calls of tools.

use axum::Json;
use entourage_engine::{Client, Page as Rows};
use entourage_types::{Agent, AgentId};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures, chat};
use crate::{
    Problem,
    extract::{Caller, Id},
    page::List,
    state::Served,
    views::{
        chats::{Family, SubAgentMessageView, SubAgentView, ToolCallDocument, documents, tool_calls},
        schema,
    },
};

type SubAgentList = List<SubAgentView>;
type SubAgentMessageList = List<SubAgentMessageView>;
type ToolCallList = List<ToolCallDocument>;

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

/// Read a sub-agent's own history (`sub_agent_messages`), oldest first
#[utoipa::path(
    get, path = "/api/sub-agents/{id}/messages", tag = "chats", operation_id = "listSubAgentMessages",
    params(("id" = schema::SubAgentId, Path, description = "The sub-agent.")),
    responses((status = 200, description = "The whole history.", body = SubAgentMessageList), Failures)
)]
async fn messages(caller: Caller, Id(id): Id<AgentId>) -> Answer<SubAgentMessageList> {
    let client = &caller.client;
    let agent = sub_agent(client, id).await?;
    // Items first: a question that an answer is of is there by then.
    let items = client.items(id, 0, u32::MAX).await?;
    let mut questions = client.questions(Some(agent.root), None, all()).await?;
    questions.retain(|question| question.agent == id);
    let kind = client.kind_of(&agent).await?;
    Ok(Json(List::of(documents(&agent, &kind.instructions, &items, &questions))))
}

/// List a sub-agent's calls of tools (`sub_agent_tool_calls`), oldest first
#[utoipa::path(
    get, path = "/api/sub-agents/{id}/tool-calls", tag = "chats", operation_id = "listToolCalls",
    params(("id" = schema::SubAgentId, Path, description = "The sub-agent.")),
    responses((status = 200, description = "All of them.", body = ToolCallList), Failures)
)]
async fn calls(caller: Caller, Id(id): Id<AgentId>) -> Answer<ToolCallList> {
    let client = &caller.client;
    sub_agent(client, id).await?;
    let last = client.runs(id, Rows { limit: 1, newest_first: true, ..Rows::default() }).await?;
    let steps = match last.first() {
        Some(run) if !run.status.is_terminal() => client.steps(run.id).await?,
        _ => Vec::new(),
    };
    // Items after steps: what has joined the transcript meanwhile is there.
    let items = client.items(id, 0, u32::MAX).await?;
    Ok(Json(List::of(tool_calls(&items, &steps))))
}

fn all() -> Rows {
    Rows { limit: u32::MAX, ..Rows::default() }
}
