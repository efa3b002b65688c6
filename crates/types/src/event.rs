//! One numbered fact for subscribers, derived from a commit.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Amount, BudgetAction, Cost, FailureClass, Grant, Intervention, Item, Owner, Question, RunId,
    Session, Status, StepKey, StepStatus, StopReason, Task, Time, Usage, WaitingOn, status::words,
};

/// One numbered fact. Numbers are gap-free per root agent; the number is the SSE id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The tree it happened in.
    pub root: AgentId,
    /// Its number in that tree, from 1.
    pub seq: u64,
    /// The agent it is about.
    pub agent: AgentId,
    /// When it was committed.
    pub at: Time,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventBody {
    /// An agent was created.
    AgentCreated {
        /// Its parent.
        parent: Option<AgentId>,
        /// Its kind.
        kind: String,
        /// What it is for; empty once it was forgotten.
        title: String,
    },
    /// An agent's status changed.
    AgentStatus {
        /// The new status.
        status: Status,
        /// What it waits for, while its status is `waiting`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        waiting_on: Option<WaitingOn>,
        /// Why its run failed or was stopped, if it was.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        stop_reason: Option<StopReason>,
    },
    /// A run changed: it started, went to sleep, resumed or ended.
    Run {
        /// Which run.
        run: RunId,
        /// Its status.
        status: Status,
        /// What it waits for, while its status is `waiting`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        waiting_on: Option<WaitingOn>,
        /// Why it stopped.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        stop_reason: Option<StopReason>,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        error: Option<String>,
        /// Tokens so far.
        usage: Usage,
        /// Cost so far.
        cost: Cost,
    },
    /// A step began, waits, is retried or is done, and no item reports that.
    Step {
        /// Whose step.
        run: RunId,
        /// The step's key.
        key: StepKey,
        /// The step's state.
        state: StepStatus,
        /// When it is retried, if it is.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        due: Option<Time>,
        /// How many attempts were made before that.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        attempt: Option<u32>,
        /// What sort of failure it was, if it is retried after one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        class: Option<FailureClass>,
        /// What went wrong, if it is retried.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        error: Option<String>,
        /// Whether it waits for room in a budget, or did until now: nothing has failed then.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        lacks_budget: bool,
    },
    /// The transcript grew. Storage keeps the item's number only; a read fills the item in.
    Item {
        /// The item's number in the agent's transcript.
        item_seq: u64,
        /// The item itself.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        item: Option<Item>,
    },
    /// A task changed.
    Task {
        /// The task as of then.
        task: Box<Task>,
    },
    /// A person intervened, or the agent has applied the intervention.
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
    /// A session was closed; the next one begins with an empty context.
    Session {
        /// The session.
        session: Box<Session>,
    },
    /// A person granted the tree more than its budget, or took some of that back.
    Budget {
        /// Who.
        by: Owner,
        /// Which of the two.
        action: BudgetAction,
        /// How much.
        amount: Amount,
    },
    /// A record of a noun without an event of its own changed.
    Record {
        /// Which noun.
        kind: String,
        /// Its id.
        id: String,
        /// Its status as of then.
        status: String,
        /// The record as of then; null once it, or the agent, was forgotten.
        record: serde_json::Value,
    },
}

words! {
    /// The name of an event: the tag of its body.
    EventName, "name of an event" {
        /// An agent was created.
        AgentCreated => "agent_created",
        /// An agent's status changed.
        AgentStatus => "agent_status",
        /// A run changed.
        Run => "run",
        /// A step changed, and no item reports that.
        Step => "step",
        /// The transcript grew.
        Item => "item",
        /// A task changed.
        Task => "task",
        /// A person intervened, or the agent has applied the intervention.
        Intervention => "intervention",
        /// A standing approval was given, or revoked.
        Grant => "grant",
        /// A question changed.
        Question => "question",
        /// A session was closed.
        Session => "session",
        /// A person granted the tree more than its budget, or took some of that back.
        Budget => "budget",
        /// A record of a noun without an event of its own changed.
        Record => "record",
    }
}

impl EventBody {
    /// The name of the event.
    #[must_use]
    pub const fn name(&self) -> EventName {
        match self {
            Self::AgentCreated { .. } => EventName::AgentCreated,
            Self::AgentStatus { .. } => EventName::AgentStatus,
            Self::Run { .. } => EventName::Run,
            Self::Step { .. } => EventName::Step,
            Self::Item { .. } => EventName::Item,
            Self::Task { .. } => EventName::Task,
            Self::Intervention { .. } => EventName::Intervention,
            Self::Grant { .. } => EventName::Grant,
            Self::Question { .. } => EventName::Question,
            Self::Session { .. } => EventName::Session,
            Self::Budget { .. } => EventName::Budget,
            Self::Record { .. } => EventName::Record,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_events_are_the_tags_of_their_bodies() {
        let unknown = serde_json::from_str::<EventBody>(r#"{"event": "?"}"#).unwrap_err().to_string();
        let names: Vec<_> = EventName::WORDS.iter().map(|name| format!("`{name}`")).collect();
        assert!(unknown.contains(&format!("expected one of {}", names.join(", "))), "{unknown}");
    }
}
