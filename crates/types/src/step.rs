//! The steps of a run: each is done once, and replayed from its checkpoint afterwards.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    About, AgentId, Asked, CallId, Effect, FailedTry, ModelUse, OnEnd, Output, QuestionId, RunId, Shortage,
    StepKey, TaskId, Time, Verdict, WakeupId, status::words,
};

/// One durable unit of a run. Its key is stable, so that the engine replays it from its record
/// after a crash.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The run it belongs to.
    pub run: RunId,
    /// Its key within its run.
    pub key: StepKey,
    /// Its state.
    pub state: StepState,
    /// The intent of a tool call; kept through all its states.
    pub intent: Option<Intent>,
    /// How many times it was attempted.
    pub attempt: u32,
    /// What the model call used, when the step is one.
    pub used: Option<ModelUse>,
    /// How the model was asked, when the step is an answered model call. Not stored with the step: the turn
    /// that is its checkpoint says it.
    pub asked: Option<Box<Asked>>,
    /// When it was first begun.
    pub started: Time,
    /// When it entered its state.
    pub updated: Time,
}

words! {
    /// The state of a step, as a word.
    StepStatus, "step status" {
        /// The intent is recorded, and the effect may have happened.
        Started => "started",
        /// It waits for a post or a moment: an answer, a result, a time.
        Open => "open",
        /// It failed and is retried later.
        Retry => "retry",
        /// It is done, once and permanently.
        Done => "done",
    }
}

/// The state of a step, with what it needs to continue from there.
#[derive(Debug, Clone, PartialEq)]
pub enum StepState {
    /// The intent is recorded, and the effect may have happened.
    Started,
    /// It waits.
    Open(Wait),
    /// It failed and is retried later.
    Retry(Retry),
    /// It is done, once and permanently. No checkpoint if no later step reads its result.
    Done(Option<Checkpoint>),
}

/// What is recorded before a tool call is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The effect class of the call when it began: if the tool declares another class later, that
    /// does not change what may have happened.
    pub effect: Effect,
    /// The arguments that a person gave instead of the agent's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub edited: Option<Value>,
}

/// What an open step waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "snake_case")]
pub enum Wait {
    /// The answer of a person.
    Question(OpenQuestion),
    /// The result of a task.
    Task {
        /// The task.
        task: TaskId,
        /// The agent that works on it, if it existed before the task: such an agent may itself
        /// wait, directly or through others, for the agent that delegated to it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        existing: Option<AgentId>,
    },
    /// No further event: the task was delegated and its result arrives as a message. The next
    /// commit answers the call.
    HandedOver {
        /// The task.
        task: TaskId,
        /// Kind and id of the agent that works on it, as the model reads them.
        worker: String,
        /// What the end of the task does.
        #[serde(default = "wakes")]
        on_end: OnEnd,
    },
    /// The results of all these tasks, which the program joins.
    Join {
        /// The tasks.
        tasks: Vec<TaskId>,
    },
    /// The outputs of all calls of one of these groups, which the code of the call has made.
    SubCalls {
        /// The ids of the calls, by group.
        groups: Vec<Vec<CallId>>,
        /// Whether there is a [`CodeSnapshot`](crate::CodeSnapshot) of the code.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        snapshot: bool,
        /// What kept the code from going on when it last could, if it has not gone on since.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        retry: Option<CodeRetry>,
    },
    /// A moment in time.
    Until {
        /// The moment.
        until: Time,
    },
}

/// When code is run again that could have gone on, had what runs it been there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeRetry {
    /// When it is run again.
    pub due: Time,
    /// How often in a row it could not be run.
    pub failures: u32,
    /// How many of these times something killed what ran it.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub kills: u32,
    /// Why, the last time.
    pub error: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What the end of a task did before there was a choice.
const fn wakes() -> OnEnd {
    OnEnd::Wake
}

/// A question that a call waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// The question.
    pub question: QuestionId,
    /// What it is about.
    pub about: About,
    /// Digest of the call and version of the kind for which an approval is valid.
    #[serde(default)]
    pub holds_for: String,
    /// When it expires, and the wake-up due then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub due: Option<(Time, WakeupId)>,
    /// What the engine does when it expires.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub otherwise: Option<Verdict>,
}

/// The progress of a model call that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// When it is retried.
    pub due: Time,
    /// Why the last attempt failed.
    pub error: String,
    /// How many of the declared models have failed for good.
    pub models_failed: u32,
    /// The errors of those models.
    pub said: Vec<String>,
    /// How many attempts were made on those models.
    pub spent: u32,
    /// All attempts so far.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub failed: Vec<FailedTry>,
    /// How often in a row it was put off because calls under way left no room in a budget, which they may leave.
    #[serde(default)]
    pub put_off: u32,
    /// The budget that has no room for the call, if that is why it was not made: until more is granted, unless it was
    /// put off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shortage: Option<Shortage>,
    /// Whether the run slept before the first attempt because no model could be asked yet.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub held_back: bool,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checkpoint {
    /// The transcript item with this number.
    Item(u64),
    /// The output of a call that waits for the other calls of its turn: they join the transcript
    /// together.
    Output(Box<Output>),
}

impl Step {
    /// Its state, as a word.
    #[must_use]
    pub const fn status(&self) -> StepStatus {
        self.state.status()
    }

    /// What it waits for, while it is open.
    #[must_use]
    pub const fn wait(&self) -> Option<&Wait> {
        match &self.state {
            StepState::Open(wait) => Some(wait),
            _ => None,
        }
    }

    /// The next attempt to run its code, if that could not be run.
    #[must_use]
    pub fn code_retry(&self) -> Option<&CodeRetry> {
        match self.wait()? {
            Wait::SubCalls { retry, .. } => retry.as_ref(),
            _ => None,
        }
    }

    /// The question that it waits for, if any.
    #[must_use]
    pub const fn question(&self) -> Option<&OpenQuestion> {
        match self.wait() {
            Some(Wait::Question(question)) => Some(question),
            _ => None,
        }
    }

    /// The task that it waits for or has delegated, if any.
    #[must_use]
    pub const fn task(&self) -> Option<TaskId> {
        match self.wait() {
            Some(Wait::Task { task, .. } | Wait::HandedOver { task, .. }) => Some(*task),
            _ => None,
        }
    }

    /// The output that it keeps until the turn's outputs join the transcript.
    #[must_use]
    pub fn output(&self) -> Option<&Output> {
        match &self.state {
            StepState::Done(Some(Checkpoint::Output(output))) => Some(output),
            _ => None,
        }
    }
}

impl StepState {
    /// The state as a word.
    #[must_use]
    pub const fn status(&self) -> StepStatus {
        match self {
            Self::Started => StepStatus::Started,
            Self::Open(_) => StepStatus::Open,
            Self::Retry(_) => StepStatus::Retry,
            Self::Done(_) => StepStatus::Done,
        }
    }

    /// Whether it waits.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// When it goes on by itself, if nothing else happens before, and the wake-up due then if that is known.
    #[must_use]
    pub fn due(&self) -> Option<(Time, Option<WakeupId>)> {
        match self {
            Self::Retry(retry) => Some((retry.due, None)),
            Self::Open(Wait::Until { until }) => Some((*until, None)),
            Self::Open(Wait::SubCalls { retry: Some(retry), .. }) => Some((retry.due, None)),
            Self::Open(Wait::Question(question)) => question.due.map(|(due, id)| (due, Some(id))),
            Self::Started
            | Self::Done(_)
            | Self::Open(
                Wait::Task { .. } | Wait::HandedOver { .. } | Wait::Join { .. } | Wait::SubCalls { .. },
            ) => None,
        }
    }

    /// Whether it is done.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// Its data as JSON, for stores that have one column for the word and one for the data.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn value(&self) -> serde_json::Result<String> {
        match self {
            Self::Started => Ok("null".to_owned()),
            Self::Open(wait) => serde_json::to_string(wait),
            Self::Retry(retry) => serde_json::to_string(retry),
            Self::Done(checkpoint) => serde_json::to_string(checkpoint),
        }
    }

    /// Reads the state from these two columns.
    ///
    /// # Errors
    /// If the value does not belong to the word.
    pub fn read(status: StepStatus, value: &str) -> serde_json::Result<Self> {
        Ok(match status {
            StepStatus::Started => Self::Started,
            StepStatus::Open => Self::Open(serde_json::from_str(value)?),
            StepStatus::Retry => Self::Retry(serde_json::from_str(value)?),
            StepStatus::Done => Self::Done(serde_json::from_str(value)?),
        })
    }
}
