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
    AgentId, CallId, Event, EventBody, Item, ItemBody, Output, PostId, Status, Step, StepKey, StepStatus,
    TaskId,
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Failures, Gone, agent_task, goal, thread_messages, user_agent};
use crate::{
    Problem,
    extract::{Caller, Id},
    page::{BYTES, Paging},
    routes::sse::{EventSource, LastEventId, ended, frame, streamed},
    state::AppState,
    views::goals::{Agentable, Change, Failing, ThinkView, ThreadMessageView, ThreadRenderer, is_stop},
};

/// How many items are read at once to know which calls were open before the stream begins.
const BEFORE: u32 = 64;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
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
    let latest: VecDeque<_> = match last.number {
        Some(_) => VecDeque::new(),
        None => thread_messages::latest(&client, &of, &Paging::new(None, None)?).await?.into(),
    };
    let unread =
        latest.iter().filter(|message| !message.processed).filter_map(|it| it.id.parse().ok()).collect();
    let mut renderer = ThreadRenderer::new(of.clone());
    // What fails now was shown, and is over with the next attempt.
    let agent = client.agent(of.agent).await?;
    thread_messages::failing(&client, &agent, &mut renderer).await?;
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
    /// What the agent had not read when it was last looked at. The messages in it were sent.
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
                if is_stop(&item) {
                    // What failed of it may have been shown before this stream began.
                    let step = self.client.failing_step(item.run).await?;
                    step.as_ref().and_then(thread_messages::failed).map(|it| self.renderer.failing(&it));
                }
                self.renderer.item(&item)
            }
            EventBody::Question { question } => {
                self.lead(Lead::Turn(question.call)).await?;
                self.renderer.question(&question).into_iter().collect()
            }
            EventBody::Step { run, key: StepKey::Tool(call), state: StepStatus::Done, .. } => {
                self.lead(Lead::Turn(call)).await?;
                // If its output has joined the transcript by now, the item is about to tell it.
                let step = self.client.call_ahead(run, call).await?;
                let ended = |step: &Step| Some(self.renderer.ended(step.output()?, step.updated));
                step.as_ref().and_then(ended).unwrap_or_default()
            }
            EventBody::Step {
                run,
                key: StepKey::Model(_),
                state: StepStatus::Retry,
                due,
                attempt,
                class,
                error,
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

    /// Has the renderer know the calls that are open where the stream begins: those of the last turn before it.
    async fn lead(&mut self, lead: Lead) -> Result<(), Error> {
        if std::mem::replace(&mut self.has_lead, true) {
            return Ok(());
        }
        let mut from = match lead {
            Lead::Before(seq) => seq,
            Lead::Turn(_) => self.client.agent(self.of.agent).await?.items,
        };
        let is_first = |item: &Item| match (&item.body, &lead) {
            (ItemBody::Turn(_), Lead::Before(_)) => true,
            (ItemBody::Turn(turn), Lead::Turn(call)) => turn.calls.iter().any(|made| made.id == *call),
            _ => false,
        };
        let is_before = matches!(lead, Lead::Before(_));
        let mut known: Vec<Item> = Vec::new();
        loop {
            let part =
                ItemQuery { before: Some(from), bytes: BYTES, ..ItemQuery::of(self.of.agent, 0, BEFORE) };
            let part = self.client.transcript_part(part).await?;
            let Some(first) = part.first() else { break };
            from = first.seq;
            let turn = part.iter().rposition(is_first);
            // What follows the turn of a call is about to come.
            let is_used =
                |item: &Item| is_first(item) || is_before && matches!(item.body, ItemBody::Output(_));
            let used = part.into_iter().skip(turn.unwrap_or(0)).filter(is_used).map(without_text);
            known = used.chain(known).collect();
            if turn.is_some() {
                break;
            }
        }
        known.iter().for_each(|item| drop(self.renderer.item(item)));
        Ok(())
    }
}

/// An item without what a call returned: that it has ended is enough.
fn without_text(item: Item) -> Item {
    let body = match item.body {
        ItemBody::Output(output) => ItemBody::Output(Output { text: String::new(), details: None, ..output }),
        body => body,
    };
    Item { body, ..item }
}

/// What a stream begins with, which tells the calls that are open by then.
enum Lead {
    /// The item with this number.
    Before(u64),
    /// Something about this call.
    Turn(CallId),
}
