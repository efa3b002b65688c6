//! Events and deltas, as the API shows them.

use entourage_engine::{AgentDelta, Piece};
use entourage_types::{
    AgentId, Event, EventBody, RunId, ShownStatus, StepStatus, StopReason, Time, WaitingOn,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{GrantView, InterventionView, ItemView, QuestionView, SessionView, TaskView, UsageView, schema};

/// One numbered event of a tree. Numbers have no gaps; the number is the SSE id.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event)]
pub(crate) struct EventView {
    /// The tree it happened in, by its root.
    #[schema(value_type = schema::AgentId)]
    root: AgentId,
    /// Its number in that tree, from 1.
    #[schema(minimum = 1)]
    seq: u64,
    /// The agent it is about.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// When it was committed.
    #[schema(value_type = schema::Time)]
    at: Time,
    /// What happened.
    #[serde(flatten)]
    body: EventBodyView,
}

/// What happened; `event` is also the SSE event's name.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EventBody)]
#[serde(tag = "event", rename_all = "snake_case")]
enum EventBodyView {
    /// An agent was created.
    AgentCreated {
        /// Its parent; null for a root.
        #[schema(value_type = Option<schema::AgentId>, required)]
        parent: Option<AgentId>,
        /// Its kind.
        kind: String,
        /// What it is for.
        title: String,
    },
    /// An agent's status changed.
    AgentStatus {
        /// The new status.
        #[schema(value_type = schema::ShownStatus)]
        status: ShownStatus,
        /// What it waits on, if it waits.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::WaitingOn>)]
        waiting_on: Option<WaitingOn>,
        /// Why its run failed or was stopped, if it was.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::StopReason>)]
        stop_reason: Option<StopReason>,
    },
    /// A run started, sleeps, continues or ended.
    Run {
        /// The run.
        #[schema(value_type = schema::RunId)]
        run: RunId,
        /// Its status.
        #[schema(value_type = schema::ShownStatus)]
        status: ShownStatus,
        /// What it waits on, if it waits.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::WaitingOn>)]
        waiting_on: Option<WaitingOn>,
        /// Why it stopped.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::StopReason>)]
        stop_reason: Option<StopReason>,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Tokens so far.
        usage: UsageView,
        /// Cost so far.
        #[schema(value_type = schema::Cost)]
        cost: entourage_types::Cost,
    },
    /// A step began, waits or is retried, and no item shows it.
    Step {
        /// The run that the step belongs to.
        #[schema(value_type = schema::RunId)]
        run: RunId,
        /// Its key.
        key: String,
        /// Its state.
        #[schema(value_type = schema::StepStatus)]
        state: StepStatus,
        /// When it is retried, for a client's countdown. Only with `state` `retry`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::Time>)]
        due: Option<Time>,
        /// How many attempts there were before that.
        #[serde(skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The transcript grew.
    Item {
        /// The item's number in the agent's transcript.
        item_seq: u64,
        /// The item.
        #[serde(skip_serializing_if = "Option::is_none")]
        item: Option<ItemView>,
    },
    /// A task changed.
    Task {
        /// The task as of then.
        task: Box<TaskView>,
    },
    /// A person intervened, or the agent applied the intervention.
    Intervention {
        /// The intervention as of then.
        intervention: Box<InterventionView>,
    },
    /// A person gave an agent a standing approval, or revoked it.
    Grant {
        /// The grant as of then.
        grant: Box<GrantView>,
    },
    /// A question was asked, answered, declined or expired.
    Question {
        /// The question as of then.
        question: Box<QuestionView>,
    },
    /// A session was closed; the next begins clean.
    Session {
        /// The session.
        session: Box<SessionView>,
    },
    /// A record of an application changed.
    Record {
        /// Which noun.
        kind: String,
        /// Its id.
        id: String,
        /// Its status as of then.
        status: String,
        /// The record as of then.
        #[schema(value_type = Object)]
        record: serde_json::Value,
    },
}

impl From<Event> for EventView {
    fn from(event: Event) -> Self {
        let Event { root, seq, agent, at, body } = event;
        Self { root, seq, agent, at, body: body.into() }
    }
}

impl From<EventBody> for EventBodyView {
    fn from(body: EventBody) -> Self {
        match body {
            EventBody::AgentCreated { parent, kind, title } => Self::AgentCreated { parent, kind, title },
            EventBody::AgentStatus { status, waiting_on, stop_reason } => {
                Self::AgentStatus { status: ShownStatus::of(status, stop_reason), waiting_on, stop_reason }
            }
            EventBody::Run { run, status, waiting_on, stop_reason, error, usage, cost } => {
                let (status, usage) = (ShownStatus::of(status, stop_reason), usage.into());
                Self::Run { run, status, waiting_on, stop_reason, error, usage, cost }
            }
            EventBody::Step { run, key, state, due, attempt, error } => {
                Self::Step { run, key: key.to_string(), state, due, attempt, error }
            }
            EventBody::Item { item_seq, item } => Self::Item { item_seq, item: item.map(ItemView::from) },
            EventBody::Task { task } => Self::Task { task: Box::new((*task).into()) },
            EventBody::Intervention { intervention } => {
                Self::Intervention { intervention: Box::new((*intervention).into()) }
            }
            EventBody::Grant { grant } => Self::Grant { grant: Box::new((*grant).into()) },
            EventBody::Question { question } => Self::Question { question: Box::new((*question).into()) },
            EventBody::Session { session } => Self::Session { session: Box::new((*session).into()) },
            EventBody::Record { kind, id, status, record } => Self::Record { kind, id, status, record },
        }
    }
}

/// All events so far have been sent; those that follow are new.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CaughtUp)]
pub(crate) struct CaughtUpView {
    /// The number of the last event sent; 0 if there was none.
    pub(crate) last: u64,
}

/// A piece of an answer under way. It has no number. A client that connects meanwhile gets the text so far as
/// one piece, and the whole text arrives with its item. The texts of one attempt, each placed at its offset,
/// are the beginning of that text; a higher `attempt` starts over. An offset beyond the text so far means
/// that a piece was missed: wait for the item.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Delta)]
pub(crate) struct DeltaView {
    /// The agent that answers.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// The run.
    #[schema(value_type = schema::RunId)]
    run: RunId,
    /// The number that the item will have.
    item_seq: u64,
    /// The number of the attempt at the answer. A higher one makes void what earlier attempts streamed;
    /// pieces of a lower one are out of date. The number means nothing on another stream.
    attempt: u64,
    /// Where the piece begins, in characters of the text so far.
    offset: u64,
    /// The piece.
    #[serde(flatten)]
    piece: PieceView,
}

/// The content of a piece.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Piece)]
#[serde(rename_all = "snake_case")]
enum PieceView {
    /// The answer's text.
    Text(String),
    /// The model's reasoning.
    Reasoning(String),
    /// A call of this tool has begun.
    Call(String),
    /// The attempt failed; what it streamed is void and offsets start over. Always `true`.
    Reset(bool),
}

impl From<&AgentDelta> for DeltaView {
    fn from(delta: &AgentDelta) -> Self {
        let AgentDelta { agent, run, item_seq, attempt, offset, piece } = delta;
        let piece = match piece {
            Piece::Text(text) => PieceView::Text(text.clone()),
            Piece::Reasoning(text) => PieceView::Reasoning(text.clone()),
            Piece::Call(tool) => PieceView::Call(tool.clone()),
            Piece::Reset => PieceView::Reset(true),
        };
        Self { agent: *agent, run: *run, item_seq: *item_seq, attempt: *attempt, offset: *offset, piece }
    }
}
