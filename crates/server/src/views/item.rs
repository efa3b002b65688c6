//! An entry of a transcript, as the API shows it.

use entourage_types::{
    AgentId, Author, CallId, Decision, Digest, Item, ItemBody, Level, Message, Notice, Output, OutputEffect,
    PostId, RunId, TaskId, Terms, Time, ToolCall, Turn,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{run::ModelUseView, schema};

/// One entry of an agent's transcript, written once and never changed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Item)]
pub(crate) struct ItemView {
    /// Whose transcript.
    #[schema(value_type = schema::AgentId)]
    agent: AgentId,
    /// Its number in the transcript, from 0 without gaps.
    seq: u64,
    /// The run that wrote it.
    #[schema(value_type = schema::RunId)]
    run: RunId,
    /// The session it belongs to.
    session: u32,
    /// When it was committed.
    #[schema(value_type = schema::Time)]
    at: Time,
    /// The key of the step of its run whose result it is; left out of what is no step's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "model/2")]
    step: Option<String>,
    /// What it says.
    #[serde(flatten)]
    body: ItemBodyView,
}

/// What an item says.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ItemBody)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ItemBodyView {
    /// Something said to the agent.
    Message {
        /// Who said it.
        from: AuthorView,
        /// The text, as given.
        text: String,
        /// The task it assigns, or whose result it brings.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::TaskId>)]
        task: Option<TaskId>,
        /// Of a result: whether the task failed. Left out of a message that brings no result.
        #[serde(skip_serializing_if = "Option::is_none")]
        failed: Option<bool>,
        /// The post by which a person's message came.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::PostId>)]
        post: Option<PostId>,
        /// What holds for the run that answers it, where whoever wrote it said so.
        #[serde(skip_serializing_if = "Option::is_none")]
        terms: Option<TermsView>,
    },
    /// Something the agent said or asked for.
    Turn {
        /// The agent's text; left out when there is none.
        #[serde(skip_serializing_if = "String::is_empty")]
        #[schema(required = false)]
        text: String,
        /// The calls, in the order asked for; left out when there are none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[schema(required = false)]
        calls: Vec<ToolCallView>,
        /// The model that spoke and what that call used; left out when a program logged its own
        /// call.
        #[serde(skip_serializing_if = "Option::is_none")]
        used: Option<ModelUseView>,
    },
    /// What one call returned.
    Output {
        /// The call it answers.
        #[schema(value_type = schema::CallId)]
        call: CallId,
        /// The tool's name.
        tool: String,
        /// The text the model reads.
        text: String,
        /// Whether the call failed; left out when it did not.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        #[schema(required = false)]
        error: bool,
        /// What it means for the run; left out when it means nothing beyond its text.
        #[serde(skip_serializing_if = "Option::is_none")]
        effect: Option<OutputEffectView>,
        /// What a screen may show beside the text; the tool's own, and neither the model nor the engine
        /// reads it.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// A structured answer of the model to a named decision.
    Decision {
        /// The decision's name.
        name: String,
        /// The answer.
        value: Value,
    },
    /// What the model sees from here on instead of the beginning of the session.
    Digest {
        /// The number of the first item that the model still sees itself.
        from: u64,
        /// What stands for those before; empty when there are none.
        text: String,
        /// How many characters of one message or output it sees; left out where its kind says.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_chars: Option<usize>,
        /// The model that summed them up and what that used; left out where none did.
        #[serde(skip_serializing_if = "Option::is_none")]
        used: Option<ModelUseView>,
    },
    /// A remark of the engine.
    Notice {
        /// How serious it is.
        level: LevelView,
        /// A stable word for programs.
        code: String,
        /// A sentence for people.
        text: String,
        /// The cause in the words of whoever failed, where people read another text.
        #[serde(skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
        /// Of a failure: `false`, for the engine does not try again by itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        retryable: Option<bool>,
    },
}

/// Who said something.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Author)]
#[serde(tag = "by", rename_all = "snake_case")]
pub(crate) enum AuthorView {
    /// The person whose agent it is.
    User,
    /// Another agent of the tree.
    Agent {
        /// Which.
        #[schema(value_type = schema::AgentId)]
        id: AgentId,
        /// Its kind.
        kind: String,
    },
}

/// A request to use a tool.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ToolCall)]
struct ToolCallView {
    /// Its id.
    #[schema(value_type = schema::CallId)]
    id: CallId,
    /// The tool's name.
    tool: String,
    /// The arguments as the model gave them.
    arguments: Value,
}

/// What an output means for the run of its call.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OutputEffect)]
#[serde(rename_all = "snake_case")]
enum OutputEffectView {
    /// The run's answer, which ends it.
    Answer(String),
    /// Words for the user.
    Said(String),
    /// An output guardrail refused what it was to say.
    Refused {
        /// Which one.
        by: String,
    },
    /// The id of the task that another agent works on, or did.
    Delegated(String),
    /// The id of the question that the user was asked; the text is what came of it.
    Asked(String),
}

impl From<OutputEffect> for OutputEffectView {
    fn from(effect: OutputEffect) -> Self {
        match effect {
            OutputEffect::Answer(words) => Self::Answer(words),
            OutputEffect::Said(words) => Self::Said(words),
            OutputEffect::Refused { by } => Self::Refused { by },
            OutputEffect::Delegated(task) => Self::Delegated(task.to_string()),
            OutputEffect::Asked(question) => Self::Asked(question.to_string()),
        }
    }
}

/// How serious a notice is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Level)]
#[serde(rename_all = "snake_case")]
pub(super) enum LevelView {
    /// Worth knowing.
    Info,
    /// Something ended early, or was repaired.
    Warning,
    /// Something failed.
    Error,
}

/// What holds for the run that answers a message, which is then a run of its own.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Terms)]
struct TermsView {
    /// How many agents stand between this run and the person who began it all.
    depth: u16,
    /// How deep work may be handed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_depth: Option<u16>,
    /// Model calls in this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_steps: Option<u32>,
    /// A check that its answer must pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    validator: Option<String>,
}

impl From<Terms> for TermsView {
    fn from(Terms { depth, max_depth, max_steps, validator }: Terms) -> Self {
        Self { depth, max_depth, max_steps, validator }
    }
}

impl From<Item> for ItemView {
    fn from(item: Item) -> Self {
        let Item { agent, seq, run, session, at, step, body } = item;
        let step = step.map(|step| step.to_string());
        Self { agent, seq, run, session, at, step, body: body.into() }
    }
}

impl From<ItemBody> for ItemBodyView {
    fn from(body: ItemBody) -> Self {
        match body {
            ItemBody::Message(Message { from, text, task, failed, post, terms }) => {
                let terms = terms.map(TermsView::from);
                Self::Message { from: from.into(), text, task, failed, post, terms }
            }
            ItemBody::Turn(Turn { text, calls, used }) => Self::Turn {
                text,
                calls: calls.into_iter().map(ToolCallView::from).collect(),
                used: used.map(ModelUseView::from),
            },
            ItemBody::Output(Output { call, tool, text, error, effect, details }) => {
                let effect = effect.map(OutputEffectView::from);
                Self::Output { call, tool, text, error, effect, details }
            }
            ItemBody::Decision(Decision { name, value }) => Self::Decision { name, value },
            ItemBody::Digest(Digest { from, text, max_chars, used }) => {
                Self::Digest { from, text, max_chars, used: used.map(ModelUseView::from) }
            }
            ItemBody::Notice(Notice { level, code, text, cause }) => {
                let retryable = (level == Level::Error).then_some(false);
                Self::Notice { level: level.into(), code, text, cause, retryable }
            }
        }
    }
}

impl From<Author> for AuthorView {
    fn from(author: Author) -> Self {
        match author {
            Author::User => Self::User,
            Author::Agent { id, kind } => Self::Agent { id, kind },
        }
    }
}

impl From<ToolCall> for ToolCallView {
    fn from(ToolCall { id, tool, arguments }: ToolCall) -> Self {
        Self { id, tool, arguments }
    }
}

impl From<Level> for LevelView {
    fn from(level: Level) -> Self {
        match level {
            Level::Info => Self::Info,
            Level::Warning => Self::Warning,
            Level::Error => Self::Error,
        }
    }
}
