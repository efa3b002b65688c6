//! The stream of a thread: first the latest messages, then what happens. It renders the tree's events, and resumes like
//! them.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use axum::{extract::State, response::IntoResponse};
use entourage_api::schema;
use entourage_engine::{Client, Error, ItemQuery, Piece, Signal, Watch};
use entourage_types::{
    AgentId, CallId, Event, EventBody, Item, ItemBody, Output, PostId, RunId, Status, Step, StepKey,
    StepState, StepStatus, TaskId, Time,
};
use serde_json::Value;

use super::{Failures, Gone, agent_task, goal, thread_messages, user_agent};
use crate::{
    Problem,
    extract::{Caller, Id},
    page::{BYTES, Paging},
    routes::api_router::{ApiRouter, routes},
    routes::sse::{EventSource, LastEventId, ended, frame, streamed},
    state::AppState,
    views::goals::{Agentable, Change, Failing, ThinkView, ThreadMessageView, ThreadRenderer, is_stop},
};

/// How many items are read at once to know which calls were open before the stream begins.
const BEFORE: u32 = 64;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(follow_goal))
        .routes(routes!(follow_task))
        .routes(routes!(follow_user_agent))
}

/// Follow the thread of a goal
///
/// Server-sent events: `message` with a `ThreadMessage`, which replaces the one with the same id; `tool_start` and
/// `tool_complete` about the use of a tool; `think` with a piece of what the model writes, which is not kept. A stream
/// begins with the latest messages; with `Last-Event-ID` it begins after that event instead, and no message is missed. It
/// ends once the agent was deleted.
#[utoipa::path(
    get, path = "/api/goals/{id}/stream", tag = "goals", operation_id = "followGoal",
    params(("id" = schema::GoalId, Path, description = "The goal."), LastEventId),
    responses(
        (status = 200, description = "The stream.", body = ThreadMessageView, content_type = "text/event-stream"),
        Gone, Failures,
    )
)]
async fn follow_goal(
    caller: Caller,
    Id(id): Id<AgentId>,
    last: LastEventId,
    State(served): State<AppState>,
) -> Result<impl IntoResponse, Problem> {
    let (_, of) = goal(&caller.client, id).await?;
    follow(caller, of, last, served).await
}

/// Follow the work on a task, as on a goal
#[utoipa::path(
    get, path = "/api/agent_tasks/{id}/stream", tag = "goals", operation_id = "followAgentTask",
    params(("id" = schema::TaskId, Path, description = "The task."), LastEventId),
    responses(
        (status = 200, description = "The stream.", body = ThreadMessageView, content_type = "text/event-stream"),
        Gone, Failures,
    )
)]
async fn follow_task(
    caller: Caller,
    Id(id): Id<TaskId>,
    last: LastEventId,
    State(served): State<AppState>,
) -> Result<impl IntoResponse, Problem> {
    let (_, of) = agent_task(&caller.client, id).await?;
    follow(caller, of, last, served).await
}

/// Follow the thread of the user agent, as that of a goal
#[utoipa::path(
    get, path = "/api/user_agent/stream", tag = "goals", operation_id = "followUserAgent", params(LastEventId),
    responses(
        (status = 200, description = "The stream.", body = ThreadMessageView, content_type = "text/event-stream"),
        Gone, Failures,
    )
)]
async fn follow_user_agent(
    caller: Caller,
    last: LastEventId,
    State(served): State<AppState>,
) -> Result<impl IntoResponse, Problem> {
    let of = user_agent(&caller.client).await?;
    follow(caller, of, last, served).await
}

async fn follow(
    caller: Caller,
    of: Agentable,
    last: LastEventId,
    served: AppState,
) -> Result<impl IntoResponse, Problem> {
    let (client, opened) = served.streams.open(&caller.client)?;
    let after = match last.number {
        Some(number) => number,
        None => client.last_event(of.root).await?,
    };
    // Refuses a cursor whose events are not kept.
    let watch = client.watch(of.root, after).await?;
    // Events that come while the messages are read are sent after them: the same message then comes twice.
    let (latest, unread) = match last.number {
        Some(_) => (Vec::new(), HashSet::new()),
        // What is unread before the latest is on the pages of the thread, as what was read is.
        None => thread_messages::latest(&client, &of, &Paging::new(None, None)?).await?,
    };
    let latest = latest.into();
    let renderer = ThreadRenderer::new(of.clone());
    let thread =
        Thread { client, of, watch, latest, after, renderer, unread, has_lead: false, is_over: false };
    Ok(streamed(thread, opened, served.heartbeat, ended(caller.until, served)))
}

/// One subscriber of one thread.
struct Thread {
    client: Client,
    of: Agentable,
    watch: Watch,
    /// The messages with which the stream begins, as far as they are not sent yet.
    latest: VecDeque<ThreadMessageView>,
    /// The number of the last event before the stream.
    after: u64,
    renderer: ThreadRenderer,
    /// What the agent had not read when it was last looked at. The messages in it were sent, or came before the stream.
    unread: HashSet<PostId>,
    /// Whether `renderer` has been given the items that precede the stream.
    has_lead: bool,
    /// Whether the agent was deleted, and all that it did is sent.
    is_over: bool,
}

/// What a stream sends next.
enum Next {
    /// One of the messages with which it begins.
    Message(Box<ThreadMessageView>),
    /// What the tree reports.
    Signal(Signal),
}

impl EventSource for Thread {
    type Input = Next;

    async fn next(&mut self) -> Result<Option<Next>, Error> {
        match self.latest.pop_front() {
            Some(message) => Ok(Some(Next::Message(Box::new(message)))),
            None if self.is_over => Ok(None),
            None => self.watch.next().await.map(|signal| Some(Next::Signal(signal))),
        }
    }

    async fn encode(&mut self, next: Next, frames: &mut Vec<u8>) -> Result<(), Error> {
        match next {
            Next::Message(message) => {
                // Who reconnects before the last of them gets all of them again.
                let number = self.latest.is_empty().then_some(self.after);
                frame(frames, number, "message", &message)?;
            }
            Next::Signal(Signal::Event(event)) => {
                let number = event.seq;
                let changes = self.changes(Arc::unwrap_or_clone(event)).await?;
                let last = changes.len().saturating_sub(1);
                for (at, change) in changes.iter().enumerate() {
                    // Only the last one has the number: a client that reconnects then gets all of them.
                    let id = (at == last).then_some(number);
                    match change {
                        Change::Message(message) => frame(frames, id, "message", message)?,
                        Change::ToolStart(start) => frame(frames, id, "tool_start", start)?,
                        Change::ToolComplete(complete) => frame(frames, id, "tool_complete", complete)?,
                    }
                }
            }
            Next::Signal(Signal::Delta(delta)) if delta.agent == self.of.agent => {
                let (text, reset) = match &delta.piece {
                    Piece::Text(text) | Piece::Reasoning(text) => (text.clone(), false),
                    Piece::Reset => (String::new(), true),
                    Piece::Call(_) => return Ok(()),
                };
                frame(frames, None, "think", &ThinkView { text, reset })?;
            }
            Next::Signal(Signal::CaughtUp(_)) => {
                self.is_over = self.client.agent(self.of.agent).await?.status == Status::Cancelled;
                self.unread(frames).await?;
            }
            Next::Signal(Signal::Inbox) => self.unread(frames).await?,
            Next::Signal(Signal::Delta(_)) => {}
        }
        Ok(())
    }
}

impl Thread {
    /// Sends the messages that the agent has not read yet. They have no number: who reconnects gets them again.
    async fn unread(&mut self, frames: &mut Vec<u8>) -> Result<(), Error> {
        let (unread, new) = self.client.unread_beyond(self.of.agent, &self.unread).await?;
        for message in thread_messages::unread_views(&self.of, new) {
            frame(frames, None, "message", &message)?;
        }
        self.unread = unread;
        Ok(())
    }

    /// What an event changes in the thread.
    async fn changes(&mut self, Event { agent, at, body, .. }: Event) -> Result<Vec<Change>, Error> {
        if agent != self.of.agent {
            return Ok(Vec::new());
        }
        Ok(match body {
            EventBody::Item { item: Some(item), .. } => {
                self.lead(Lead::Before(item.seq)).await?;
                let mut changes = self.renderer.item(&item);
                if is_stop(&item) {
                    // Failed attempts before that no longer matter.
                    changes.extend(self.overcome(item.run, at).await?);
                }
                changes
            }
            EventBody::Question { question } => {
                self.lead(Lead::Call(question.call)).await?;
                self.renderer.question(&question).into_iter().collect()
            }
            EventBody::Step { run, key: StepKey::Tool(call), state: StepStatus::Done, .. } => {
                self.lead(Lead::Call(call)).await?;
                // If its output has joined the transcript by now, the item is about to tell it.
                let step = self.client.call_ahead(run, call).await?;
                let ended = |step: &Step| Some(self.renderer.ended(step.output()?, step.updated));
                step.as_ref().and_then(ended).unwrap_or_default()
            }
            // What was said of failed attempts is over: the call waits for something else.
            EventBody::Step { run, key: StepKey::Model(_), lacks_budget: true, .. } => {
                self.overcome(run, at).await?.into_iter().collect()
            }
            EventBody::Step {
                run,
                key: StepKey::Model(_),
                state: StepStatus::Retry,
                due,
                attempt,
                class,
                error,
                lacks_budget: false,
            } => {
                let (Some(due), Some(error)) = (due, error) else { return Ok(Vec::new()) };
                let attempt = attempt.unwrap_or_default();
                let failing = Failing { run, attempt, error: &error, class, due, at };
                vec![Change::Message(self.renderer.failing(&failing))]
            }
            EventBody::AgentStatus { status: Status::Cancelled, .. } => {
                self.is_over = true;
                Vec::new()
            }
            _ => Vec::new(),
        })
    }

    /// The end of what was said of the failed attempts of a run that makes its call later, or not at all.
    async fn overcome(&self, run: RunId, at: Time) -> Result<Option<Change>, Error> {
        let step = self.client.retried_turn(run).await?;
        Ok(step.and_then(|step| match step.state {
            StepState::Retry(retry) => self.renderer.overcome(run, &retry.failed, retry.held_back, at),
            _ => None,
        }))
    }

    /// Has the renderer know the calls that are open where the stream begins: those of the last turn before it, and what
    /// their code has made.
    async fn lead(&mut self, lead: Lead) -> Result<(), Error> {
        if std::mem::replace(&mut self.has_lead, true) {
            return Ok(());
        }
        let (mut from, mut wanted) = match lead {
            Lead::Before(seq) => (seq, None),
            Lead::Call(call) => (self.client.agent(self.of.agent).await?.items, Some(call)),
        };
        // What follows the turn of a call is about to come.
        let is_before = wanted.is_none();
        let mut known: Vec<Item> = Vec::new();
        let mut is_found = false;
        while !is_found {
            let part =
                ItemQuery { before: Some(from), bytes: BYTES, ..ItemQuery::of(self.of.agent, 0, BEFORE) };
            let part = self.client.transcript_part(part).await?;
            let Some(first) = part.first() else { break };
            from = first.seq;
            for item in part.into_iter().rev() {
                is_found = match (&item.body, &mut wanted) {
                    (ItemBody::Turn(_), None) => true,
                    (ItemBody::Turn(turn), Some(call)) => turn.calls.iter().any(|made| made.id == *call),
                    (ItemBody::SubCalls(made), Some(call)) => {
                        // No turn has a call that code made: it has the one whose code that was.
                        if made.calls.iter().any(|made| made.id == *call) {
                            *call = made.of;
                        }
                        false
                    }
                    _ => false,
                };
                let is_used = is_found
                    || matches!(item.body, ItemBody::SubCalls(_))
                    || is_before && matches!(item.body, ItemBody::Output(_));
                if is_used {
                    known.push(without_text(item));
                }
                if is_found {
                    break;
                }
            }
        }
        known.iter().rev().for_each(|item| drop(self.renderer.item(item)));
        Ok(())
    }
}

/// An item without what a call returned, or what code has given its calls: that they were made and have ended is enough.
fn without_text(item: Item) -> Item {
    let body = match item.body {
        ItemBody::Output(output) => ItemBody::Output(Output { text: String::new(), details: None, ..output }),
        ItemBody::SubCalls(mut made) => {
            made.calls.iter_mut().for_each(|call| call.arguments = Value::Null);
            ItemBody::SubCalls(made)
        }
        body => body,
    };
    Item { body, ..item }
}

/// What a stream begins with, which tells the calls that are open by then.
enum Lead {
    /// The item with this number.
    Before(u64),
    /// Something about this call, which a turn or code has made.
    Call(CallId),
}
