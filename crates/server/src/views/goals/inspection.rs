//! What an operator sees of an agent: what its model has read, what it does, and how its last run ended.

use entourage_api::schema;
use entourage_types::{Agent, Item, ItemBody, Learning, LearningId, Run, RunId, Status, StopReason, Time};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{AgentableType, HistoryEntry, Stopped, llm_history};

/// What an operator sees of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Inspection)]
pub(crate) struct InspectionView {
    /// What it is.
    r#type: AgentableType,
    /// Its id.
    id: String,
    /// What its model has read and answered in the open session.
    llm_history: Vec<HistoryEntry>,
    /// Whether it is at work, since when and in which run; and what was set on it by hand.
    #[schema(value_type = Object)]
    runtime_state: Map<String, Value>,
    /// What it has learned.
    learnings: Vec<LearningView>,
    /// Its last run that worked on something: none that only closed a session.
    last_run: Option<RunView>,
}

/// Something that an agent has learned.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = InspectedLearning)]
struct LearningView {
    /// Its id.
    #[schema(value_type = schema::LearningId)]
    id: LearningId,
    /// The text.
    content: String,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated_at: Time,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = InspectedRun)]
pub(crate) struct RunView {
    /// Its id.
    #[schema(value_type = schema::RunId)]
    id: RunId,
    /// Its status.
    #[schema(value_type = schema::Status)]
    status: Status,
    /// Whether it ended because the model called no more tools.
    natural_completion: bool,
    /// Why it stopped.
    #[schema(value_type = Option<String>)]
    stop_reason: Option<Stopped>,
    /// How often the model was asked.
    iterations: u32,
    /// When it began.
    #[schema(value_type = schema::Time)]
    started_at: Time,
    /// When it ended.
    #[schema(value_type = Option<schema::Time>)]
    ended_at: Option<Time>,
}

impl InspectionView {
    pub(crate) fn new(
        (r#type, id): (AgentableType, String),
        agent: &Agent,
        items: &[Item],
        set: Map<String, Value>,
        learnings: Vec<Learning>,
        last_run: Option<(Run, Vec<Item>)>,
    ) -> Self {
        let open = last_run.as_ref().map(|(run, _)| run).filter(|run| run.ended.is_none());
        let mut runtime_state = set;
        runtime_state.insert("orchestrator_running".into(), Value::Bool(agent.status == Status::Running));
        let started = open.map_or(Value::Null, |run| Value::String(run.started.to_string()));
        runtime_state.insert("orchestrator_started_at".into(), started);
        let job = open.map_or(Value::Null, |run| Value::String(run.id.to_string()));
        runtime_state.insert("orchestrator_job_id".into(), job);
        let learnings = learnings
            .into_iter()
            .map(|learning| LearningView {
                id: learning.id,
                content: learning.text,
                updated_at: learning.updated,
            })
            .collect();
        let last_run = last_run.map(|(run, items)| RunView::of(&run, &items));
        Self { r#type, id, llm_history: llm_history(items), runtime_state, learnings, last_run }
    }
}

impl RunView {
    /// A run, with its last items. It ended by itself if its last answer called no tools.
    fn of(run: &Run, items: &[Item]) -> Self {
        let last = items.iter().rev().find_map(|item| match &item.body {
            ItemBody::Turn(turn) => Some(turn.calls.is_empty()),
            _ => None,
        });
        Self {
            id: run.id,
            status: run.status,
            natural_completion: run.stop_reason == Some(StopReason::Completed) && last == Some(true),
            stop_reason: run.stop_reason.map(Stopped),
            iterations: run.model_calls,
            started_at: run.started,
            ended_at: run.ended,
        }
    }
}
