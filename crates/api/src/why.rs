//! Why an agent does not go on.

use entourage_types::{About, AgentId, QuestionId, StopReason, TaskId, Time};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Allowance, BudgetOf, schema};

/// Why an agent does not go on, or that it works or rests: the last cause, and the chain that leads to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// The last cause: once it is gone, the agent goes on, or the one below it if it is at rest itself.
    #[serde(flatten)]
    pub cause: Cause,
    /// Since when the agent itself stands there.
    #[schema(value_type = schema::Time)]
    pub since: Time,
    /// The whole chain as one sentence, without its subject.
    pub text: String,
    /// The agent itself, the agent that it waits for, and so on to the one with the last cause. After an agent at rest
    /// comes one below it that does not go on, if there is one.
    pub chain: Vec<WhyLink>,
    /// What the agent itself has yet to read, in the order in which it came: `message`, `answer`, `result`, or an
    /// intervention by its action.
    pub unread: Vec<String>,
}

/// Why one agent of the chain does not go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WhyLink {
    /// The agent.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// Its kind.
    pub kind: String,
    /// What it is for.
    pub title: String,
    /// Since when it stands there.
    #[schema(value_type = schema::Time)]
    pub since: Time,
    /// Why.
    #[serde(flatten)]
    pub cause: Cause,
}

/// One cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "on", rename_all = "snake_case")]
pub enum Cause {
    /// A person must answer.
    Question {
        /// The question.
        #[schema(value_type = schema::QuestionId)]
        question: QuestionId,
        /// What it is about.
        #[schema(value_type = schema::About)]
        about: About,
        /// Its text.
        asks: String,
        /// When it expires; left out if it never does.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::Time>)]
        due: Option<Time>,
    },
    /// A model call failed and is tried again.
    Retry {
        /// How many attempts there were.
        attempt: u32,
        /// Why the last one failed.
        error: String,
        /// When the next one is made.
        #[schema(value_type = schema::Time)]
        due: Time,
    },
    /// What runs code was not there when the code of a call could go on, and it is run again.
    CodeRetry {
        /// How often in a row it was not.
        failures: u32,
        /// Why, the last time.
        error: String,
        /// When it is run again.
        #[schema(value_type = schema::Time)]
        due: Time,
    },
    /// The gate before a model holds your calls back.
    Gate {
        /// The model.
        model: String,
        /// When the call is made.
        #[schema(value_type = schema::Time)]
        due: Time,
    },
    /// A budget has no room for its next model call.
    Budget {
        /// What the budget is of.
        of: BudgetOf,
        /// What the call may use at most.
        needs: Allowance,
        /// What is left.
        left: Allowance,
        /// Whether calls under way may leave enough; otherwise the call waits until more is granted.
        may_have_room: bool,
        /// When it looks again whether there is room, if nothing is granted before.
        #[schema(value_type = schema::Time)]
        due: Time,
    },
    /// A budget had no room for its next model call and has room again: it goes on by itself.
    Room {
        /// When.
        #[schema(value_type = schema::Time)]
        due: Time,
    },
    /// It sleeps until a time.
    Timer {
        /// The time.
        #[schema(value_type = schema::Time)]
        due: Time,
    },
    /// Another agent works for it: the next of the chain.
    Task {
        /// The task.
        #[schema(value_type = schema::TaskId)]
        task: TaskId,
    },
    /// A person paused it.
    Pause {
        /// The reason given.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It could go on: it waits for a place, or is about to get one.
    Place {
        /// How many agents are at work in the server.
        busy: usize,
        /// How many may be at work at once.
        limit: usize,
    },
    /// It is to go on in another process that shares the database.
    Elsewhere,
    /// It could go on, and no process works here.
    Process,
    /// The process ended each time that it worked on the run, also when it ended the run: until you stop the agent,
    /// none tries again.
    Crash {
        /// How often in a row.
        ends: u32,
    },
    /// It is at work.
    Work,
    /// It has nothing to do.
    Rest {
        /// Why its last run failed or was stopped, if it was.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::StopReason>)]
        failed: Option<StopReason>,
        /// What went wrong in it.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Whether its goal is archived: it takes nothing up before that is unarchived.
        #[serde(default)]
        archived: bool,
        /// How many agents below it are at work.
        #[serde(default)]
        below: u64,
        /// Whether there may be more: its tree has more agents than are looked at.
        #[serde(default)]
        more_below: bool,
    },
    /// It was deleted.
    Deleted,
    /// It is waiting, but no reason is recorded; maintenance will repair this.
    Nothing,
}
