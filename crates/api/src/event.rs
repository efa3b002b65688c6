//! An event of a tree.

use entourage_types::{
    self as types, AgentId, BudgetAction, Cost, EventName, FailureClass, Owner, RunId, ShownStatus, StepKey,
    StepStatus, StopReason, Time, WaitingOn,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{Amount, Grant, Intervention, Item, Question, Session, Task, Usage, schema};

/// One numbered event of a tree. Numbers have no gaps; the number is the SSE id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// The tree it happened in, by its root.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// Its number in that tree, from 1.
    #[schema(minimum = 1)]
    pub seq: u64,
    /// The agent it is about.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// When it was committed.
    #[schema(value_type = schema::Time)]
    pub at: Time,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened; `event` is also the SSE event's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventBody {
    /// An agent was created.
    AgentCreated {
        /// Its parent; null for a root.
        #[schema(value_type = Option<schema::AgentId>, required)]
        parent: Option<AgentId>,
        /// Its kind.
        kind: String,
        /// What it is for; empty once it was forgotten.
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
        usage: Usage,
        /// Cost so far.
        #[schema(value_type = schema::Cost)]
        cost: Cost,
    },
    /// A step began, waits or is retried, and no item shows it.
    Step {
        /// The run that the step belongs to.
        #[schema(value_type = schema::RunId)]
        run: RunId,
        /// Its key.
        #[schema(value_type = String)]
        key: StepKey,
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
        /// What sort of failure it was, if it was one.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::FailureClass>)]
        class: Option<FailureClass>,
        /// What went wrong, or that the budget that it waited for has room again.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The transcript grew.
    Item {
        /// The item's number in the agent's transcript.
        item_seq: u64,
        /// The item.
        #[serde(skip_serializing_if = "Option::is_none")]
        item: Option<Box<Item>>,
    },
    /// A task changed.
    Task {
        /// The task as of then.
        task: Box<Task>,
    },
    /// A person intervened, or the agent applied the intervention.
    Intervention {
        /// The intervention as of then.
        intervention: Box<Intervention>,
    },
    /// A person gave an agent a standing approval, or revoked it.
    Grant {
        /// The grant as of then.
        grant: Box<Grant>,
    },
    /// A question was asked, answered, declined or expired.
    Question {
        /// The question as of then.
        question: Box<Question>,
    },
    /// A session was closed; the next begins clean.
    Session {
        /// The session.
        session: Box<Session>,
    },
    /// A person granted the tree more than its budget, or took some of that back.
    Budget {
        /// Who.
        #[schema(value_type = String)]
        by: Owner,
        /// Which of the two.
        #[schema(value_type = schema::BudgetAction)]
        action: BudgetAction,
        /// How much.
        amount: Amount,
    },
    /// A record of an application changed.
    Record {
        /// Which noun.
        kind: String,
        /// Its id.
        id: String,
        /// Its status as of then.
        status: String,
        /// The record as of then; null once it, or the agent, was forgotten.
        #[schema(value_type = Option<Object>, required)]
        record: serde_json::Value,
    },
}

impl From<types::Event> for Event {
    fn from(event: types::Event) -> Self {
        let types::Event { root, seq, agent, at, body } = event;
        Self { root, seq, agent, at, body: body.into() }
    }
}

impl From<types::EventBody> for EventBody {
    fn from(body: types::EventBody) -> Self {
        match body {
            types::EventBody::AgentCreated { parent, kind, title } => {
                Self::AgentCreated { parent, kind, title }
            }
            types::EventBody::AgentStatus { status, waiting_on, stop_reason } => {
                Self::AgentStatus { status: ShownStatus::of(status, stop_reason), waiting_on, stop_reason }
            }
            types::EventBody::Run { run, status, waiting_on, stop_reason, error, usage, cost } => {
                let (status, usage) = (ShownStatus::of(status, stop_reason), usage.into());
                Self::Run { run, status, waiting_on, stop_reason, error, usage, cost }
            }
            types::EventBody::Step { run, key, state, due, attempt, class, error, lacks_budget: _ } => {
                Self::Step { run, key, state, due, attempt, class, error }
            }
            types::EventBody::Item { item_seq, item } => {
                Self::Item { item_seq, item: item.map(|item| Box::new(Item::from(item))) }
            }
            types::EventBody::Task { task } => Self::Task { task: Box::new((*task).into()) },
            types::EventBody::Intervention { intervention } => {
                Self::Intervention { intervention: Box::new((*intervention).into()) }
            }
            types::EventBody::Grant { grant } => Self::Grant { grant: Box::new((*grant).into()) },
            types::EventBody::Question { question } => {
                Self::Question { question: Box::new((*question).into()) }
            }
            types::EventBody::Session { session } => Self::Session { session: Box::new((*session).into()) },
            types::EventBody::Budget { by, action, amount } => {
                Self::Budget { by, action, amount: amount.into() }
            }
            types::EventBody::Record { kind, id, status, record } => {
                Self::Record { kind, id, status, record }
            }
        }
    }
}

/// Where a stream of events begins, or which page of events to return.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Begin {
    /// Begin after the event with this number. A stream begins with the first event that is kept by default, and
    /// `Last-Event-ID` takes precedence; a page has the last events by default. Both are refused with
    /// `cursor-gone` if no event has this number yet, or if events right after it were pruned.
    pub after: Option<u64>,
    /// Pages only: the last events before the event with this number; refused with `cursor-gone` if that event was
    /// pruned.
    pub before: Option<u64>,
    /// Pages only: only events about this agent.
    #[param(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// Pages only: only events of this name.
    #[param(value_type = Option<schema::EventName>)]
    pub event: Option<EventName>,
    /// Pages only: how many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}

impl Begin {
    /// Whether it asks for what only pages have.
    #[must_use]
    pub const fn is_for_pages(&self) -> bool {
        let Self { after: _, before, agent, event, limit } = self;
        before.is_some() || agent.is_some() || event.is_some() || limit.is_some()
    }
}

/// A page of the events of a tree, in order. It may have few events, or none, and others before and after it: it
/// looks at a bounded number of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventPage {
    /// The events.
    pub data: Vec<Event>,
    /// The `before` of the page of earlier events; null if there are none.
    #[schema(required)]
    pub earlier: Option<u64>,
    /// The `after` of the page of later events; null if there are none so far.
    #[schema(required)]
    pub later: Option<u64>,
    /// The number of the first event of the tree that is kept; 0 if there is none.
    pub first: u64,
    /// The number of the last event of the tree; 0 if there is none.
    pub last: u64,
}
