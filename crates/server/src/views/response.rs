//! Answers of agencies, as the API shows them, in the terms of the library that they came from.

use entourage_engine::responses::{NestedRun, Origin, RunError, RunItem, RunResult};
use entourage_types::{AgentId, CallId, Question, RunId, StopReason, Time};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{QuestionView, TallyView, item::LevelView, schema};
use crate::Problem;

/// The outcome of a message to an agency.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AgencyResponse)]
pub(crate) struct ResponseView {
    /// The answer; null if the run failed, or if a question must be answered first.
    #[schema(required)]
    final_output: Option<String>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RunErrorView>,
    /// The agent that answered.
    agent: String,
    /// The chat: name it in the next message to continue it.
    chat_id: String,
    /// The run; null if a question must be answered first.
    #[schema(value_type = Option<schema::RunId>, required)]
    run_id: Option<RunId>,
    /// What this run produced, in order.
    generated_items: Vec<RunItemView>,
    /// The runs that worked for it, in the order of their calls, each with what it produced.
    nested: Vec<NestedRunView>,
    /// What the models used and cost, nested runs included.
    usage: TallyView,
    /// The questions that must be answered before the run continues.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    questions: Vec<QuestionView>,
}

impl ResponseView {
    /// The response for a run that ended.
    pub(crate) fn ended(chat_id: String, result: RunResult) -> Self {
        Self {
            nested: result.nested.iter().map(NestedRunView::from).collect(),
            final_output: result.final_output,
            error: result.error.map(RunErrorView::from),
            agent: result.agent,
            chat_id,
            run_id: Some(result.run_id),
            generated_items: result.generated_items.into_iter().map(RunItemView::from).collect(),
            usage: result.usage.into(),
            questions: Vec::new(),
        }
    }

    /// Returns the answer alone; a problem if there is none.
    pub(crate) fn into_text(self) -> Result<String, Problem> {
        let why = |error: RunErrorView| Problem::no_answer(format!("{}: {}", error.code, error.text));
        self.error.map_or(Ok(self.final_output.unwrap_or_default()), |error| Err(why(error)))
    }

    /// The response for a run that continues once a question is answered.
    pub(crate) fn asking(chat_id: String, agent: String, question: Question) -> Self {
        Self {
            final_output: None,
            error: None,
            agent,
            chat_id,
            run_id: None,
            generated_items: Vec::new(),
            nested: Vec::new(),
            usage: entourage_types::Tally::default().into(),
            questions: vec![question.into()],
        }
    }
}

/// Why a run gave no answer.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunError)]
pub(crate) struct RunErrorView {
    /// A stable code.
    #[schema(value_type = schema::StopReason)]
    code: StopReason,
    /// A sentence for people.
    text: String,
}

impl From<RunError> for RunErrorView {
    // The cause is the original error message: the run (`GET /v1/runs/{id}`) and the log have it.
    fn from(RunError { code, text, cause: _ }: RunError) -> Self {
        Self { code, text }
    }
}

/// A run that worked for another.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NestedRun)]
pub(crate) struct NestedRunView {
    #[serde(flatten)]
    origin: OriginView,
    /// What it produced, in order.
    generated_items: Vec<RunItemView>,
    /// What its own model calls used and cost.
    usage: TallyView,
    /// The answer that its caller got; null if it failed.
    #[schema(required)]
    final_output: Option<String>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RunErrorView>,
}

impl From<&NestedRun> for NestedRunView {
    fn from(nested: &NestedRun) -> Self {
        Self {
            origin: nested.origin.clone().into(),
            generated_items: nested.generated_items.iter().cloned().map(RunItemView::from).collect(),
            usage: nested.usage.into(),
            final_output: nested.final_output.clone(),
            error: nested.error.clone().map(RunErrorView::from),
        }
    }
}

/// Where an item comes from.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Origin)]
pub(crate) struct OriginView {
    /// The agent whose thread it is.
    agent: String,
    /// The sender in that thread: another agent, `user`, or the name that the person gave.
    caller: String,
    /// How many agents are between this one and the person.
    depth: u16,
    /// The run.
    #[schema(value_type = schema::RunId)]
    run_id: RunId,
    /// The run whose call it works for.
    #[schema(value_type = Option<schema::RunId>, required)]
    parent_run_id: Option<RunId>,
    /// The thread, which is an agent of the chat's tree.
    #[schema(value_type = schema::AgentId)]
    thread: AgentId,
}

impl From<Origin> for OriginView {
    fn from(Origin { agent, caller, depth, run, parent_run, thread }: Origin) -> Self {
        Self { agent, caller, depth, run_id: run, parent_run_id: parent_run, thread }
    }
}

/// One item of a thread.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunItem)]
pub(crate) struct RunItemView {
    #[serde(flatten)]
    origin: OriginView,
    /// When it was committed.
    #[schema(value_type = schema::Time)]
    at: Time,
    #[serde(flatten)]
    body: RunItemBodyView,
}

/// The content of an item.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunItemBody)]
#[serde(tag = "type")]
#[allow(clippy::enum_variant_names, reason = "these are the names on the wire")]
enum RunItemBodyView {
    /// A message to the agent.
    MessageInputItem {
        /// The text.
        text: String,
    },
    /// A message of the agent.
    MessageOutputItem {
        /// The text.
        text: String,
    },
    /// A call that the agent asked for.
    ToolCallItem {
        /// The call.
        #[schema(value_type = schema::CallId)]
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The arguments as the model gave them.
        arguments: Value,
    },
    /// The output of a call.
    ToolCallOutputItem {
        /// The call that it answers.
        #[schema(value_type = schema::CallId)]
        call_id: CallId,
        /// The tool.
        tool: String,
        /// The text that the model reads.
        output: String,
        /// Whether the call failed.
        is_error: bool,
    },
    /// A notice of the server: a guardrail's verdict, a limit that was reached.
    NoticeItem {
        /// How serious it is.
        level: LevelView,
        /// A stable code.
        code: String,
        /// A sentence for people.
        text: String,
    },
}

impl From<RunItem> for RunItemView {
    fn from(item: RunItem) -> Self {
        let (origin, at, body) = match item {
            RunItem::MessageInput(item) => {
                (item.origin, item.at, RunItemBodyView::MessageInputItem { text: item.text })
            }
            RunItem::MessageOutput(item) => {
                (item.origin, item.at, RunItemBodyView::MessageOutputItem { text: item.text })
            }
            RunItem::ToolCall(item) => {
                let body = RunItemBodyView::ToolCallItem {
                    call_id: item.call_id,
                    tool: item.tool,
                    arguments: item.arguments,
                };
                (item.origin, item.at, body)
            }
            RunItem::ToolCallOutput(item) => {
                let body = RunItemBodyView::ToolCallOutputItem {
                    call_id: item.call_id,
                    tool: item.tool,
                    output: item.output,
                    is_error: item.is_error,
                };
                (item.origin, item.at, body)
            }
            RunItem::Notice(item) => {
                let body = RunItemBodyView::NoticeItem {
                    level: item.level.into(),
                    code: item.code,
                    text: item.text,
                };
                (item.origin, item.at, body)
            }
        };
        Self { origin: origin.into(), at, body }
    }
}

/// A piece of an answer under way.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunText)]
pub(crate) struct RunTextView {
    #[serde(flatten)]
    pub(crate) origin: OriginView,
    /// The piece; null if all pieces since the last item of this thread are void.
    #[schema(required)]
    pub(crate) text: Option<String>,
}
