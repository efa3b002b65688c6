//! A sub-agent's tool calls, with their results.

use std::collections::VecDeque;

use axum::Json;
use entourage_api::{Page, PageQuery, schema};
use entourage_engine::{Client, ItemQuery, Page as Rows, PageEnd, PageLimit};
use entourage_types::{AgentId, CallId, ItemBody};

use super::{
    Answer, Failures,
    sub_agents::{beginning, sub_agent},
};
use crate::{
    Problem,
    extract::{Caller, Filter, Id},
    page::{BYTES, Paging, page_of},
    routes::api_router::{ApiRouter, routes},
    views::chats::{ToolCallDocument, tool_calls},
};

type ToolCallPage = Page<ToolCallDocument>;

/// How many items are read at once to find outputs.
const OUTPUTS: u32 = 256;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(list))
}

/// List a sub-agent's tool calls (`sub_agent_tool_calls`): the latest ones, oldest first
///
/// A page has at most `limit` calls, and fewer, or none, where they are long or many other items are between
/// them; earlier calls are on the next page.
#[utoipa::path(
    get, path = "/api/sub-agents/{id}/tool-calls", tag = "chats", operation_id = "listToolCalls",
    params(("id" = schema::SubAgentId, Path, description = "The sub-agent."), PageQuery),
    responses((status = 200, description = "A page of calls.", body = ToolCallPage), Failures)
)]
async fn list(caller: Caller, Id(id): Id<AgentId>, Filter(query): Filter<PageQuery>) -> Answer<ToolCallPage> {
    let client = &caller.client;
    sub_agent(client, id).await?;
    let (before, limit) = Paging::of(&query)?.items::<PageEnd<CallId>>()?;
    let last = client.runs(id, Rows { limit: 1, newest_first: true, ..Rows::default() }).await?;
    let steps = match last.first() {
        Some(run) if !run.status.is_terminal() => client.steps(run.id).await?,
        _ => Vec::new(),
    };
    // Items after steps: an output that joins the transcript meanwhile is then found there.
    let end = before.map_or(u64::MAX, |before| before.item);
    let part = ItemQuery { before: Some(end), bytes: BYTES, ..ItemQuery::of(id, 0, limit) };
    let items = client.transcript_part(part).await?;
    let from = beginning(&items);
    let mut calls = tool_calls(&items, &steps);
    let last = before.and_then(|before| before.last);
    if let Some(last) = calls.iter().position(|call| Some(call.id) == last) {
        calls.truncate(last);
    }
    if before.is_some() {
        let on_page = calls.len().saturating_sub(limit as usize);
        read_outputs(client, id, end, &mut calls[on_page..]).await?;
    }
    let mut room = PageLimit::of(BYTES);
    let fits = |call: &&ToolCallDocument| room.takes(call.bytes());
    let shown = calls.iter().rev().take(limit as usize).take_while(fits).count();
    let hidden = calls.len() - shown;
    let calls = calls.split_off(hidden);
    let next = match calls.first().filter(|_| hidden > 0) {
        Some(first) => Some(PageEnd { item: first.turn + 1, last: Some(first.id) }),
        None => from.map(|item| PageEnd { item, last: None }),
    };
    Ok(Json(page_of(calls, next)))
}

/// Reads the outputs of these calls that the transcript has from a number on, before the next turn. Outputs
/// are in the order of their calls: none after the last call's is read, and of those read, only the last
/// ones, enough to fill a page, are held in memory.
async fn read_outputs(
    client: &Client,
    agent: AgentId,
    from: u64,
    calls: &mut [ToolCallDocument],
) -> Result<(), Problem> {
    let Some(last) = calls.last().map(|call| call.id) else { return Ok(()) };
    let (mut outputs, mut held, mut next) = (VecDeque::new(), 0, Some(from));
    while let Some(from) = next {
        let part = ItemQuery { bytes: BYTES, ..ItemQuery::of(agent, from, OUTPUTS) };
        let part = client.transcript_part(part).await?;
        next = part.last().map(|last| last.seq + 1);
        for item in part {
            let output = match item.body {
                ItemBody::Output(output) if calls.iter().any(|call| call.id == output.call) => output,
                ItemBody::Turn(_) => {
                    next = None;
                    break;
                }
                _ => continue,
            };
            if output.call == last {
                next = None;
            }
            held += output.text.len();
            outputs.push_back((output, item.at));
            while let Some((first, _)) = outputs.front().filter(|(first, _)| held - first.text.len() >= BYTES)
            {
                held -= first.text.len();
                outputs.pop_front();
            }
        }
    }
    for (output, at) in outputs {
        if let Some(call) = calls.iter_mut().find(|call| call.id == output.call) {
            call.returned(output, at);
        }
    }
    Ok(())
}
