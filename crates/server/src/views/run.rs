//! Runs and their steps, as the API shows them.

use entourage_types::{
    AgentId, Cost, Intent, ModelUse, Owner, Run, RunId, ShownStatus, Step, StepState, StepStatus, StopReason,
    TaskId, Time, WaitingOn,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{SpentView, UsageView, schema};

/// A run: the work from reading a message until the agent stops. It may sleep in between, for any length of time.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Run)]
pub(crate) struct RunView {
    /// Its id.
    #[schema(value_type = schema::RunId)]
    id: RunId,
    /// The agent.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// The owner of that agent.
    #[schema(value_type = String)]
    owner: Owner,
    /// Its status.
    #[schema(value_type = schema::ShownStatus)]
    status: ShownStatus,
    /// What it waits on, if it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::WaitingOn>)]
    waiting_on: Option<WaitingOn>,
    /// Why it stopped, once it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::StopReason>)]
    stop_reason: Option<StopReason>,
    /// What went wrong, if something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The version of the kind that it started with and stays with.
    kind_version: String,
    /// The tasks whose results it owes.
    #[schema(value_type = Vec<schema::TaskId>)]
    tasks: Vec<TaskId>,
    /// How many model calls it made.
    model_calls: u32,
    /// Milliseconds at work in activations that have ended; time asleep does not count.
    worked_ms: u64,
    /// The tokens of those calls.
    usage: UsageView,
    /// What they cost, as far as prices are known.
    #[schema(value_type = schema::Cost)]
    cost: Cost,
    /// The same by day and model.
    spent: Vec<SpentView>,
    /// When it started.
    #[schema(value_type = schema::Time)]
    started: Time,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Time>)]
    ended: Option<Time>,
}

impl From<Run> for RunView {
    fn from(run: Run) -> Self {
        let Run {
            id,
            agent,
            owner,
            status,
            waiting_on,
            stop_reason,
            error,
            kind_version,
            tasks,
            model_calls,
            worked_ms,
            usage,
            cost,
            spent,
            started,
            ended,
        } = run;
        let status = ShownStatus::of(status, stop_reason);
        let (usage, spent) = (usage.into(), spent.into_iter().map(SpentView::from).collect());
        Self {
            id,
            agent,
            owner,
            status,
            waiting_on,
            stop_reason,
            error,
            kind_version,
            tasks,
            model_calls,
            worked_ms,
            usage,
            cost,
            spent,
            started,
            ended,
        }
    }
}

/// One durable unit of a run: done once, and answered from its checkpoint from then on.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Step)]
pub(crate) struct StepView {
    /// The run that it belongs to.
    #[schema(value_type = schema::RunId)]
    run: RunId,
    /// Its key in the run.
    #[schema(example = "model/2")]
    key: String,
    /// Its state.
    #[schema(value_type = schema::StepStatus)]
    state: StepStatus,
    /// What it waits for, when and why it is retried, or its result: the number of an item, or an output that
    /// waits for those of the other calls.
    value: Value,
    /// What was recorded when a call began: the class of its effect, and the arguments that a person gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    intent: Option<Intent>,
    /// How many times it was tried.
    attempt: u32,
    /// What the model call used, when the step is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<ModelUseView>,
    /// When it was first begun.
    #[schema(value_type = schema::Time)]
    started: Time,
    /// When it entered its state.
    #[schema(value_type = schema::Time)]
    updated: Time,
}

impl From<Step> for StepView {
    fn from(step: Step) -> Self {
        let Step { run, key, state, intent, attempt, used, started, updated } = step;
        let (key, state, value) = (key.to_string(), state.status(), content(&state));
        Self { run, key, state, value, intent, attempt, used: used.map(ModelUseView::from), started, updated }
    }
}

/// The content of a state, without its name.
fn content(state: &StepState) -> Value {
    state.value().ok().and_then(|value| serde_json::from_str(&value).ok()).unwrap_or_default()
}

/// What one model call used.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ModelUse)]
pub(crate) struct ModelUseView {
    /// The model that answered, as `provider::name`.
    model: String,
    /// Its tokens.
    usage: UsageView,
    /// Its price; left out when none is known for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Cost>)]
    cost: Option<Cost>,
}

impl From<ModelUse> for ModelUseView {
    fn from(ModelUse { model, usage, cost }: ModelUse) -> Self {
        Self { model, usage: usage.into(), cost }
    }
}
