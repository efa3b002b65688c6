//! A run: one activation's worth of work, from something to read to a stop.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Cost, ModelUse, Owner, RunId, Spent, Status, Tally, TaskId, Time, Usage, WaitingOn, shown,
    status::words,
};

/// From something to read to a stop. It may span many activations: whatever waits sleeps on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Whose run.
    pub agent: AgentId,
    /// The owner of that agent.
    pub owner: Owner,
    /// Where it stands.
    #[serde(deserialize_with = "shown::status")]
    pub status: Status,
    /// What it waits on, when it waits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waiting_on: Option<WaitingOn>,
    /// Why it stopped, once it has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stop_reason: Option<StopReason>,
    /// What went wrong, when something did, in the words of what failed; the notice in the transcript has the
    /// sentence for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// The version of the kind it started with and stays with.
    pub kind_version: String,
    /// The tasks whose results this run owes.
    #[serde(default)]
    pub tasks: Vec<TaskId>,
    /// How many model calls it made.
    pub model_calls: u32,
    /// Milliseconds at work in activations that have ended; time asleep does not count.
    pub worked_ms: u64,
    /// The tokens of its model calls, those of answers that were of no use included.
    pub usage: Usage,
    /// What those calls cost, as far as prices are known.
    pub cost: Cost,
    /// The same by day and model, answers that were of no use included.
    #[serde(default)]
    pub spent: Vec<Spent>,
    /// When it started.
    pub started: Time,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<Time>,
}

impl Run {
    /// Counts an answer of a model that came at this moment, whatever it was good for.
    pub fn charge(&mut self, used: &ModelUse, at: Time) {
        self.usage += used.usage;
        self.cost += used.cost.unwrap_or_default();
        let day = at.day();
        let same = |spent: &&mut Spent| spent.day == day && spent.model == used.model;
        match self.spent.iter_mut().find(same) {
            Some(spent) => spent.tally += used,
            None => {
                let mut tally = Tally::default();
                tally += used;
                self.spent.push(Spent { day, model: used.model.clone(), tally });
            }
        }
    }

    /// All that it used.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.spent.iter().map(|spent| spent.tally).sum()
    }
}

words! {
    /// Why a run stopped.
    StopReason, "stop reason" {
        /// The model asked for nothing more, or said what it had to say.
        Completed => "completed",
        /// The limit of model calls in one run.
        MaxSteps => "max_steps",
        /// The same tool called too many times in a row.
        SameTool => "same_tool",
        /// It went round in circles: the same happened too many times in a row.
        Stalled => "stalled",
        /// The limit of time at work.
        MaxTime => "max_time",
        /// The limit of tokens.
        MaxTokens => "max_tokens",
        /// The limit of money.
        MaxCost => "max_cost",
        /// The model failed for good.
        ModelFailed => "model_failed",
        /// The model had neither text nor a call to offer, however often it was asked.
        EmptyResponse => "empty_response",
        /// A check refused what it was told.
        InputRejected => "input_rejected",
        /// A check refused its answer, and the next one too.
        ValidationFailed => "validation_failed",
        /// The kind, a tool or the engine itself is at fault.
        Error => "error",
        /// A person or a parent's end.
        Cancelled => "cancelled",
    }
}

impl StopReason {
    /// Whether it is a limit of the run: one may end it with an answer, too.
    #[must_use]
    pub const fn is_limit(self) -> bool {
        matches!(
            self,
            Self::MaxSteps | Self::SameTool | Self::Stalled | Self::MaxTime | Self::MaxTokens | Self::MaxCost
        )
    }
}
