//! A sub-agent's calls of tools, with what they came to.

use axum::Json;
use entourage_engine::{Client, ItemQuery, Page as Rows, Place};
use entourage_types::{AgentId, CallId, Item, ItemBody};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    Answer, Failures,
    sub_agents::{beginning, sub_agent},
};
use crate::{
    Problem,
    extract::{Caller, Filter, Id},
    page::{BYTES, Page, PageQuery},
    state::Served,
    views::{
        chats::{ToolCallDocument, tool_calls},
        schema,
    },
};

type ToolCallPage = Page<ToolCallDocument>;

/// How many items are read at once in search of outputs.
const OUTPUTS: u32 = 256;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(list))
}

/// List a sub-agent's calls of tools (`sub_agent_tool_calls`): the last of them, oldest first
///
/// A page tells of `limit` items, or of fewer where they are long; earlier calls are on the next one.
#[utoipa::path(
    get, path = "/api/sub-agents/{id}/tool-calls", tag = "chats", operation_id = "listToolCalls",
    params(("id" = schema::SubAgentId, Path, description = "The sub-agent."), PageQuery),
    responses((status = 200, description = "A page of calls.", body = ToolCallPage), Failures)
)]
async fn list(caller: Caller, Id(id): Id<AgentId>, Filter(query): Filter<PageQuery>) -> Answer<ToolCallPage> {
    let client = &caller.client;
    sub_agent(client, id).await?;
    let (before, limit) = query.paging()?.items::<Place<CallId>>()?;
    let last = client.runs(id, Rows { limit: 1, newest_first: true, ..Rows::default() }).await?;
    let steps = match last.first() {
        Some(run) if !run.status.is_terminal() => client.steps(run.id).await?,
        _ => Vec::new(),
    };
    // Items after steps: what has joined the transcript meanwhile is there.
    let end = before.map_or(u64::MAX, |place| place.item);
    let part = ItemQuery { before: Some(end), bytes: BYTES, ..ItemQuery::of(id, 0, limit) };
    let mut items = client.transcript_part(part).await?;
    let from = beginning(&items);
    if before.is_some() {
        items.extend(outputs_behind(client, id, end).await?);
    }
    let mut calls = tool_calls(&items, &steps);
    let told = before.and_then(|place| place.beside);
    if let Some(told) = calls.iter().position(|call| Some(call.id) == told) {
        calls.truncate(told);
    }
    let mut room = BYTES;
    let fits = |call: &&ToolCallDocument| {
        let fits = room > 0;
        room = room.saturating_sub(call.bytes());
        fits
    };
    let shown = calls.iter().rev().take(limit as usize).take_while(fits).count();
    let hidden = calls.len() - shown;
    let calls = calls.split_off(hidden);
    let next = match calls.first().filter(|_| hidden > 0) {
        Some(first) => Some(Place { item: first.turn + 1, beside: Some(first.id) }),
        None => from.map(|item| Place { item, beside: None }),
    };
    Ok(Json(Page::of_items(calls, next)))
}

/// The items from a number up to the next turn: among them are outputs of the calls of the turn before.
async fn outputs_behind(client: &Client, agent: AgentId, mut from: u64) -> Result<Vec<Item>, Problem> {
    let is_turn = |item: &Item| matches!(item.body, ItemBody::Turn(_));
    let mut behind = Vec::new();
    loop {
        let part = ItemQuery { bytes: BYTES, ..ItemQuery::of(agent, from, OUTPUTS) };
        let part = client.transcript_part(part).await?;
        let Some(last) = part.last() else { return Ok(behind) };
        from = last.seq + 1;
        let is_over = part.iter().any(is_turn);
        behind.extend(part.into_iter().take_while(|item| !is_turn(item)));
        if is_over {
            return Ok(behind);
        }
    }
}
