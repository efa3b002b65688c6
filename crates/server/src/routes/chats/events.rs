//! The event stream of a chat: documents as they change, each sent again whole, and pieces of messages under
//! way. It renders the tree's events, and resumes like them.

use std::{collections::HashMap, sync::Arc};

use axum::{extract::State, response::IntoResponse};
use entourage_api::{Begin, CaughtUp, schema};
use entourage_engine::{Client, Entry, Error, Signal, TranscriptRenderer, Watch};
use entourage_types::{Agent, AgentId, CallId, Event, EventBody, Item, ItemBody, QuestionStatus, Status};
use serde_json::Value;

use super::{Failures, Gone, chat};
use crate::{
    Problem,
    extract::{Caller, Filter, Id},
    routes::api_router::{ApiRouter, routes},
    routes::sse::{EventSource, LastEventId, ended, frame, streamed},
    state::AppState,
    views::chats::{
        ChatDeltaView, ChatMessageView, ChatTaskView, SubAgentView, ToolCallDocument, TreeIndex, tool_calls,
    },
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(follow))
}

/// Follow a chat: first all changes so far, then new ones
///
/// Server-sent events: `message`, `task`, `sub_agent` and `tool_call`, each with the whole document as of
/// that change, in the order of the changes. The last document of a change has the number of the change as
/// its `id`: reconnect with it as `Last-Event-ID` and no change is missed. A document may then arrive twice,
/// so replace the one with the same id. If an output guardrail refuses an answer that was already sent, the
/// answer is sent again as a `message` without content, of the type `refused`: show nothing of it.
/// `caught_up` says that all changes so far have been sent. `delta` is a piece of a message under way, with a
/// `ChatDelta` as its data.
#[utoipa::path(
    get, path = "/api/chats/{id}/events", tag = "chats", operation_id = "followChat",
    params(
        ("id" = schema::ChatId, Path, description = "The chat."),
        Begin,
        LastEventId,
    ),
    responses(
        (status = 200, description = "The stream.", body = ChatMessageView, content_type = "text/event-stream"),
        Gone,
        Failures,
    )
)]
async fn follow(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(begin): Filter<Begin>,
    last: LastEventId,
    State(served): State<AppState>,
) -> Result<impl IntoResponse, Problem> {
    let agent = chat(&caller.client, id).await?;
    let after = last.number.or(begin.after);
    let (client, opened) = served.streams.open(&caller.client)?;
    // Refuses a cursor whose events are not kept.
    let mut watch = client.watch(id, after).await?;
    let first = client.events(id, None, 1).await?.first().map_or(1, |event| event.seq);
    // A document shows the state as of its event, so the index is built from the events themselves, also from
    // those that the client has had; if the first are not kept any more, it begins with what is stored.
    let is_whole = first == 1;
    let tree = if is_whole { TreeIndex::default() } else { TreeIndex::read(&client, id).await? };
    if is_whole && after.unwrap_or_default() > 0 {
        watch = client.watch(id, None).await?;
    }
    let renderer = client.renderer(&agent);
    let shown = after.unwrap_or_default();
    let chat = Chat { client, id, watch, shown, tree, renderer, has_lead: is_whole, calls: HashMap::new() };
    Ok(streamed(chat, opened, served.heartbeat, ended(caller.until, served)))
}

/// One subscriber of one chat.
struct Chat {
    client: Client,
    id: AgentId,
    watch: Watch,
    /// The number of the last event whose documents the client has had.
    shown: u64,
    tree: TreeIndex,
    renderer: TranscriptRenderer,
    /// Whether `renderer` has been given the items of the main chat that precede the stream.
    has_lead: bool,
    /// The calls that have not returned.
    calls: HashMap<CallId, ToolCallDocument>,
}

/// How many earlier items are read to know what an item refers to.
const BEFORE: u32 = 64;

/// A document that has changed: the name of its SSE event, and its JSON.
type Document = (&'static str, Value);

impl EventSource for Chat {
    type Input = Signal;

    async fn next(&mut self) -> Result<Option<Signal>, Error> {
        self.watch.next().await.map(Some)
    }

    async fn encode(&mut self, signal: Signal, frames: &mut Vec<u8>) -> Result<(), Error> {
        match signal {
            Signal::Event(event) => {
                let number = event.seq;
                let changed = self.changed(Arc::unwrap_or_clone(event)).await?;
                if number <= self.shown {
                    return Ok(());
                }
                let last = changed.len().saturating_sub(1);
                for (at, (name, document)) in changed.iter().enumerate() {
                    // Only the last document has the number: a client that reconnects then gets all documents
                    // of a change.
                    frame(frames, (at == last).then_some(number), name, document)?;
                }
            }
            Signal::CaughtUp(last) => frame(frames, None, "caught_up", &CaughtUp { last })?,
            Signal::Inbox => {}
            Signal::Delta(delta) => {
                if let Some(piece) = ChatDeltaView::of(self.id, &delta) {
                    frame(frames, None, "delta", &piece)?;
                }
            }
        }
        Ok(())
    }
}

impl Chat {
    /// The documents that an event has changed.
    async fn changed(&mut self, Event { agent, at, body, .. }: Event) -> Result<Vec<Document>, Error> {
        let mut out = Vec::new();
        match body {
            EventBody::AgentCreated { .. } => {
                // The agent as it was created: later events report its changes since.
                let made = self.client.agent(agent).await?;
                self.tree.agent(Agent { status: Status::Idle, updated: made.created, ..made });
                out.extend(self.sub_agent(agent)?);
            }
            EventBody::AgentStatus { status, .. } => {
                if !self.tree.status(agent, status, at) {
                    self.tree.agent(self.client.agent(agent).await?);
                }
                out.extend(self.sub_agent(agent)?);
                out.extend(self.task(agent)?);
            }
            EventBody::Task { task } => {
                self.tree.task(*task);
                out.extend(self.sub_agent(agent)?);
                out.extend(self.task(agent)?);
            }
            EventBody::Question { question } => {
                self.tree.question(&question);
                if question.status == QuestionStatus::Open {
                    out.push(self.message(TranscriptRenderer::question(*question))?);
                }
                for waiting in self.tree.line(agent) {
                    out.extend(self.sub_agent(waiting)?);
                    out.extend(self.task(waiting)?);
                }
            }
            EventBody::Item { item: Some(item), .. } if agent == self.id => {
                if !std::mem::replace(&mut self.has_lead, true) {
                    for before in self.before(&item).await? {
                        self.renderer.item(&before);
                    }
                }
                if TranscriptRenderer::refuses(&item) {
                    out.extend(self.taken_back(&item).await?);
                }
                if let Some(entry) = self.renderer.item(&item) {
                    out.push(self.message(entry)?);
                }
            }
            EventBody::Item { item: Some(item), .. } => self.calls(&item, &mut out).await?,
            _ => {}
        }
        Ok(out)
    }

    /// The items right before an item.
    async fn before(&self, item: &Item) -> Result<Vec<Item>, Error> {
        let from = item.seq.saturating_sub(BEFORE.into());
        let count = u32::try_from(item.seq - from).unwrap_or(BEFORE);
        self.client.items(item.agent, from, count).await
    }

    /// The answer that an item refuses, as a document without its text.
    async fn taken_back(&self, refusal: &Item) -> Result<Option<Document>, Error> {
        let before = self.before(refusal).await?;
        let answer = before.iter().rev().find(|item| matches!(item.body, ItemBody::Turn(_)));
        let answer = answer.filter(|answer| answer.run == refusal.run);
        let withdrawn = answer.and_then(|answer| self.renderer.clone().item(answer));
        let document = withdrawn.map(|entry| ChatMessageView::taken_back(self.id, entry, &self.tree));
        Ok(document.map(serde_json::to_value).transpose()?.map(|document| ("message", document)))
    }

    fn message(&self, entry: Entry) -> Result<Document, Error> {
        Ok(("message", serde_json::to_value(ChatMessageView::of(self.id, entry, &self.tree))?))
    }

    fn sub_agent(&self, agent: AgentId) -> Result<Option<Document>, Error> {
        let below = self.tree.get(agent).filter(|agent| agent.parent.is_some());
        let document = below.map(|agent| serde_json::to_value(SubAgentView::of(agent, &self.tree)));
        Ok(document.transpose()?.map(|document| ("sub_agent", document)))
    }

    fn task(&self, worker: AgentId) -> Result<Option<Document>, Error> {
        let task = self.tree.task_of(worker).cloned();
        let document = task.map(|task| serde_json::to_value(ChatTaskView::of(task, &self.tree)));
        Ok(document.transpose()?.map(|document| ("task", document)))
    }

    /// Adds the documents of the calls that a sub-agent's item asks for, or of the call whose output it is.
    async fn calls(&mut self, item: &Item, out: &mut Vec<Document>) -> Result<(), Error> {
        match &item.body {
            ItemBody::Turn(turn) => {
                for call in &turn.calls {
                    let Some(document) = ToolCallDocument::asked(item, call) else { continue };
                    out.push(("tool_call", serde_json::to_value(&document)?));
                    self.calls.insert(call.id, document);
                }
            }
            ItemBody::Output(output) => {
                let mut known = self.calls.remove(&output.call);
                if known.is_none() {
                    let before = tool_calls(&self.before(item).await?, &[]);
                    known = before.into_iter().find(|document| document.id == output.call);
                }
                if let Some(mut document) = known {
                    document.returned(output.clone(), item.at);
                    out.push(("tool_call", serde_json::to_value(&document)?));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
