//! Steps of runs.

use entourage_types::{
    self as types, About, CallId, Checkpoint, Intent, QuestionId, RunId, StepKey, StepState, StepStatus,
    TaskId, Time,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Asked, FailedTry, ModelUse, schema};

/// One durable unit of a run: done once, and answered from its checkpoint from then on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Step {
    /// The run that it belongs to.
    #[schema(value_type = schema::RunId)]
    pub run: RunId,
    /// Its key in the run.
    #[schema(value_type = String, example = "model/2")]
    pub key: StepKey,
    /// Its state.
    #[schema(value_type = schema::StepStatus)]
    pub state: StepStatus,
    /// What it waits for, while it is `open`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitsFor>,
    /// When and why it is tried again, in the state `retry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Its result once it is `done`; left out if no other step needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<StepResult>,
    /// What was recorded when a call began: the class of its effect, and the arguments that a person gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Intent>)]
    pub intent: Option<Intent>,
    /// How many times it was tried.
    pub attempt: u32,
    /// What the model call used, when the step is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<ModelUse>,
    /// How the model was asked, when the step is an answered model call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// When it was first begun.
    #[schema(value_type = schema::Time)]
    pub started: Time,
    /// When it entered its state.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<types::Step> for Step {
    fn from(step: types::Step) -> Self {
        let types::Step { run, key, state, intent, attempt, used, asked, started, updated } = step;
        let status = state.status();
        let (waits_for, retry, result) = match state {
            StepState::Started | StepState::Done(None) => (None, None, None),
            StepState::Open(wait) => (Some(wait.into()), None, None),
            StepState::Retry(types::Retry { due, error, failed, .. }) => {
                let failed = failed.into_iter().map(FailedTry::from).collect();
                (None, Some(Retry { due, error, failed }), None)
            }
            StepState::Done(Some(Checkpoint::Item(seq))) => (None, None, Some(StepResult::Item(seq))),
            StepState::Done(Some(Checkpoint::Output(output))) => {
                (None, None, Some(StepResult::Output(output.text)))
            }
        };
        let used = used.map(ModelUse::from);
        let asked = asked.map(|asked| Asked::from(*asked));
        Self {
            run,
            key,
            state: status,
            waits_for,
            retry,
            result,
            intent,
            attempt,
            used,
            asked,
            started,
            updated,
        }
    }
}

/// What a step waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitsFor {
    /// The answer of a person.
    Question {
        /// The question.
        #[schema(value_type = schema::QuestionId)]
        id: QuestionId,
        /// What it is about.
        #[schema(value_type = schema::About)]
        about: About,
        /// When it expires, if ever.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::Time>)]
        due: Option<Time>,
    },
    /// The result of this task.
    #[schema(value_type = schema::TaskId)]
    Task(TaskId),
    /// The results of all these tasks.
    #[schema(value_type = Vec<schema::TaskId>)]
    Tasks(Vec<TaskId>),
    /// The outputs of all calls of one of these groups, which its code has made.
    #[schema(value_type = Vec<Vec<schema::CallId>>)]
    SubCalls(Vec<Vec<CallId>>),
    /// This moment.
    #[schema(value_type = schema::Time)]
    Until(Time),
}

impl From<types::Wait> for WaitsFor {
    fn from(wait: types::Wait) -> Self {
        match wait {
            types::Wait::Question(types::OpenQuestion { question: id, about, due, .. }) => {
                Self::Question { id, about, due: due.map(|(due, _)| due) }
            }
            types::Wait::Task { task, .. } | types::Wait::HandedOver { task, .. } => Self::Task(task),
            types::Wait::Join { tasks } => Self::Tasks(tasks),
            types::Wait::SubCalls { groups, snapshot: _, retry: _ } => Self::SubCalls(groups),
            types::Wait::Until { until } => Self::Until(until),
        }
    }
}

/// When and why a failed step is tried again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Retry {
    /// When it is tried again.
    #[schema(value_type = schema::Time)]
    pub due: Time,
    /// Why the last attempt failed.
    pub error: String,
    /// All attempts so far; empty if an earlier release did not record them.
    pub failed: Vec<FailedTry>,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepResult {
    /// The number of the transcript item that holds it.
    Item(u64),
    /// The text of an output that waits for those of the turn's other calls.
    Output(String),
}
