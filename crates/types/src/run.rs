//! A run: an agent's work from reading a message until it stops.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Cost, HourlyUsage, ModelUse, Owner, RunId, Status, Switches, Tally, TaskId, Time, Usage,
    WaitingOn, status::words,
};

/// The work from reading a message until the agent stops. It may span many activations: a waiting run sleeps on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The agent that runs.
    pub agent: AgentId,
    /// The owner of that agent.
    pub owner: Owner,
    /// Its status.
    pub status: Status,
    /// What it waits for, while its status is `waiting`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waiting_on: Option<WaitingOn>,
    /// Why it stopped, once it has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stop_reason: Option<StopReason>,
    /// What went wrong, if something did, in the original text of the failed component; the notice
    /// in the transcript has the sentence for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// The version of the kind it started with and stays with.
    pub kind_version: String,
    /// The switches of tools that it started with and stays with.
    #[serde(skip_serializing_if = "Switches::is_empty", default)]
    pub switches: Switches,
    /// The tasks whose results this run owes.
    #[serde(default)]
    pub tasks: Vec<TaskId>,
    /// How many model calls it made.
    pub model_calls: u32,
    /// Milliseconds of work in activations that have ended; time asleep does not count.
    pub worked_ms: u64,
    /// The tokens of its model calls, including those of discarded answers.
    pub usage: Usage,
    /// What those calls cost, as far as prices are known.
    pub cost: Cost,
    /// The same by hour and model.
    #[serde(default)]
    pub spent: Vec<HourlyUsage>,
    /// When it started.
    pub started: Time,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<Time>,
}

impl Run {
    /// Charges an answer of a model that arrived at this moment, even if the engine discards it.
    pub fn charge(&mut self, used: &ModelUse, at: Time) {
        self.usage += used.usage;
        self.cost += used.cost.unwrap_or_default();
        let (day, hour) = (at.day(), Some(at.hour()));
        let same =
            |spent: &&mut HourlyUsage| (spent.day, spent.hour) == (day, hour) && spent.model == used.model;
        match self.spent.iter_mut().find(same) {
            Some(spent) => spent.tally += used,
            None => {
                let mut tally = Tally::default();
                tally += used;
                self.spent.push(HourlyUsage { day, hour, model: used.model.clone(), tally });
            }
        }
    }

    /// Everything that it used.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.spent.iter().map(|spent| spent.tally).sum()
    }
}

words! {
    /// Why a run stopped.
    StopReason, "stop reason" {
        /// The model asked for no more tools, or sent its message to the user.
        Completed => "completed",
        /// The limit of model calls in one run.
        MaxSteps => "max_steps",
        /// The same tool called too many times in a row.
        SameTool => "same_tool",
        /// It went round in circles: the same happened too many times in a row.
        Stalled => "stalled",
        /// Nothing of it changed for too long: it was given up, without a result.
        Stale => "stale",
        /// The limit of a run's own history.
        MaxHistory => "max_history",
        /// The limit of working time.
        MaxTime => "max_time",
        /// The limit of tokens.
        MaxTokens => "max_tokens",
        /// The limit of money.
        MaxCost => "max_cost",
        /// The model failed for good.
        ModelFailed => "model_failed",
        /// The model returned neither text nor a call in any attempt.
        EmptyResponse => "empty_response",
        /// An input guardrail refused what it was to read.
        InputRejected => "input_rejected",
        /// An output guardrail refused its answer more often than the kind's `attempts` allow.
        ValidationFailed => "validation_failed",
        /// The kind, a tool or the engine itself is at fault.
        Error => "error",
        /// A person or another agent stopped it, or its parent ended.
        Cancelled => "cancelled",
    }
}

impl StopReason {
    /// Whether it is a limit of the run; a run that reached a limit may still end with an answer.
    #[must_use]
    pub const fn is_limit(self) -> bool {
        self.is_of_loop() || matches!(self, Self::MaxTime | Self::MaxTokens | Self::MaxCost)
    }

    /// Whether it bounds the loop of model and tools alone. The other limits bound all that a run does, decisions
    /// included.
    #[must_use]
    pub const fn is_of_loop(self) -> bool {
        matches!(self, Self::MaxSteps | Self::SameTool | Self::Stalled | Self::MaxHistory)
    }
}
