//! The steps of a run: each is done once, and answered from its checkpoint ever after.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    About, AgentId, Effect, ModelUse, Output, QuestionId, RunId, StepKey, TaskId, Time, Verdict, WakeupId,
    status::words,
};

/// One durable unit of a run. Its key is stable, so that after a crash it is answered from here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The run it belongs to.
    pub run: RunId,
    /// What it is known by in its run.
    pub key: StepKey,
    /// How far it got.
    #[serde(flatten)]
    pub state: StepState,
    /// What a tool call began with; kept through all its states.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub intent: Option<Intent>,
    /// How many times it was tried.
    pub attempt: u32,
    /// What the model call used, when the step is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub used: Option<ModelUse>,
    /// When it was first begun.
    pub started: Time,
    /// When it got into its state.
    pub updated: Time,
}

words! {
    /// How far a step got, as a word.
    StepStatus, "step status" {
        /// The intent is on record, the effect may have happened.
        Started => "started",
        /// It waits for a post: an answer, a result, a moment.
        Open => "open",
        /// It failed and is tried again later.
        Retry => "retry",
        /// It is done, once and for ever.
        Done => "done",
    }
}

/// How far a step got, with what it needs to go on from there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", content = "value", rename_all = "snake_case")]
pub enum StepState {
    /// The intent is on record, the effect may have happened.
    Started,
    /// It waits.
    Open(Wait),
    /// It failed and is tried again later.
    Retry(Retry),
    /// It is done, once and for ever. None where nobody asks what it came to.
    Done(Option<Checkpoint>),
}

/// What a tool call began with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The class of its effect when it began: what its tool says of itself later changes nothing about
    /// what may have happened.
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
        /// The agent that works on it, where it existed before the task: then it may wait, be it by way of
        /// others, for the very agent that wrote to it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        existing: Option<AgentId>,
    },
    /// Nothing more: the task was handed over and its result comes as a message. The call is answered by the
    /// next commit.
    HandedOver {
        /// The task.
        task: TaskId,
        /// Kind and id of the agent that works on it, as the model reads them.
        worker: String,
    },
    /// A moment.
    Until {
        /// Which.
        until: Time,
    },
}

/// A question that a call waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// The question.
    pub question: QuestionId,
    /// What it is about.
    pub about: About,
    /// Digest of the call and the version of the kind that an approval holds for.
    #[serde(default)]
    pub holds_for: String,
    /// When it expires, and the wake-up that comes then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub due: Option<(Time, WakeupId)>,
    /// What is done when it expires.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub otherwise: Option<Verdict>,
}

/// How far a model call that failed has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// When it is tried again.
    pub due: Time,
    /// Why the last attempt failed.
    pub error: String,
    /// How many of the declared models have failed for good.
    pub models_failed: u32,
    /// What those models said.
    pub said: Vec<String>,
    /// How many attempts went to those models.
    pub spent: u32,
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checkpoint {
    /// The item of the transcript with this number.
    Item(u64),
    /// The output of a call that waits for the other calls of its turn: they join the transcript together.
    Output(Box<Output>),
}

impl Step {
    /// How far it got, as a word.
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

    /// The question that it waits for, if it waits for one.
    #[must_use]
    pub const fn question(&self) -> Option<&OpenQuestion> {
        match self.wait() {
            Some(Wait::Question(question)) => Some(question),
            _ => None,
        }
    }

    /// The task that it waits for or has handed over, if either.
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
    /// As a word.
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

    /// Whether it is done.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// What it keeps beside its word, as JSON: for stores with a column for each.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn value(&self) -> serde_json::Result<String> {
        match self {
            Self::Started => Ok("null".to_owned()),
            Self::Open(wait) => serde_json::to_string(wait),
            Self::Retry(retry) => serde_json::to_string(retry),
            Self::Done(checkpoint) => serde_json::to_string(checkpoint),
        }
    }

    /// The state of which these are the two columns.
    ///
    /// # Errors
    /// When the value does not belong to the word.
    pub fn read(status: StepStatus, value: &str) -> serde_json::Result<Self> {
        Ok(match status {
            StepStatus::Started => Self::Started,
            StepStatus::Open => Self::Open(serde_json::from_str(value)?),
            StepStatus::Retry => Self::Retry(serde_json::from_str(value)?),
            StepStatus::Done => Self::Done(serde_json::from_str(value)?),
        })
    }
}
