//! One entry of a transcript. Items are written once and never changed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentId, Asked, AskedSummary, CallId, Context, Decision, ModelUse, Notice, PostId, QuestionId, RunId,
    RunOptions, Status, StepKey, TaskId, Time, Trigger,
};

/// One entry of an agent's transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The agent whose transcript it is.
    pub agent: AgentId,
    /// Its number in the transcript, from 0 without gaps.
    pub seq: u64,
    /// The run that wrote it.
    pub run: RunId,
    /// The session it belongs to.
    pub session: u32,
    /// When it was committed.
    pub at: Time,
    /// The step of the run whose checkpoint it is; none if it is not the result of a step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<StepKey>,
    /// Its content.
    #[serde(flatten)]
    pub body: ItemBody,
}

/// The content of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ItemBody {
    /// A message to the agent.
    Message(Message),
    /// A text or calls of the agent.
    Turn(Turn),
    /// What one call returned.
    Output(Output),
    /// Calls that the code of a call makes. No model reads them, nor their outputs.
    SubCalls(SubCalls),
    /// What one of these returned.
    SubOutput(SubOutput),
    /// A decision of the model.
    Decision(Decision),
    /// A remark of the engine: a limit that was reached, a failure.
    Notice(Notice),
    /// What the model reads from here on instead of older items.
    Digest(Digest),
    /// What the model reads beside the conversation: the time, notes, learnings, sub-agents.
    Context(Context),
}

/// A message to the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who wrote it.
    pub from: Author,
    /// The text, as given.
    pub text: String,
    /// The task it assigns, or whose result it delivers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task: Option<TaskId>,
    /// How the task of the delivered result ended; none if the message delivers no result.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<Status>,
    /// The post that carried the message, if a caller waits for its answer: the id by which the
    /// caller knows the message before the agent reads it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub post: Option<PostId>,
    /// The options of the run that answers it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub options: Option<RunOptions>,
}

impl Message {
    /// Creates a message that delivers no result.
    #[must_use]
    pub fn new(from: Author, text: impl Into<String>, task: Option<TaskId>) -> Self {
        Self { from, text: text.into(), task, ended: None, post: None, options: None }
    }

    /// Whether it delivers the result of a task.
    #[must_use]
    pub const fn is_result(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether it delivers the result of a task that did not succeed.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.ended.is_some_and(|ended| ended != Status::Succeeded)
    }
}

/// The author of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Author {
    /// The person who owns the agent.
    User,
    /// Another agent of the tree.
    Agent {
        /// Its id.
        id: AgentId,
        /// Its kind.
        kind: String,
    },
    /// Nobody: its time had come, or something outside happened.
    Trigger {
        /// What set the agent to work.
        trigger: Box<Trigger>,
    },
}

impl Author {
    /// Whether it is outside the tree: what it wrote is what the owner wants.
    #[must_use]
    pub const fn is_outside(&self) -> bool {
        !matches!(self, Self::Agent { .. })
    }
}

/// A text of the agent, and the calls that must be answered before its next turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Turn {
    /// The assistant's text; may be empty when there are calls.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub text: String,
    /// The calls, in the order asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub calls: Vec<ToolCall>,
    /// The model that answered and what the call used; none if a program logged a call of its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub used: Option<ModelUse>,
    /// How the model was asked; none if a program logged a call of its own, or an earlier release wrote it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asked: Option<Box<Asked>>,
}

/// A request to use a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Its id; also the idempotency key the tool receives.
    pub id: CallId,
    /// The tool's name.
    pub tool: String,
    /// The arguments as the model gave them: an object, or a string that is not JSON.
    pub arguments: Value,
}

/// What one call returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// The call it answers.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// The text the model reads.
    pub text: String,
    /// Whether the call failed.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub error: bool,
    /// What it means for the run. Only the engine sets it, never the data of a tool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub effect: Option<OutputEffect>,
    /// What a user interface may show beside the text. It belongs to the tool and may be any JSON:
    /// neither the model nor the engine reads it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub details: Option<Value>,
}

/// Calls that the code of a call makes: the code goes on when those that it waits for have outputs. The ids are
/// those of [`CallId::sub_call`], so that code which runs again finds its calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubCalls {
    /// The call whose code makes them.
    pub of: CallId,
    /// The calls, in the order in which the code makes them.
    pub calls: Vec<ToolCall>,
}

/// What a call of code returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubOutput {
    /// The call whose code made it.
    pub of: CallId,
    /// What it returned.
    #[serde(flatten)]
    pub output: Output,
}

/// What an output means for the run of its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputEffect {
    /// The run's answer, which ends it.
    Answer(String),
    /// A text for the user.
    Said(String),
    /// An output guardrail refused the text that the call was to send.
    Refused {
        /// The guardrail's name.
        by: String,
    },
    /// Another agent works, or worked, on this task.
    Delegated(TaskId),
    /// The user was asked, and the text is the answer: the model must read it before the run ends.
    Asked(QuestionId),
    /// The user was asked, and declined to answer.
    Declined(QuestionId),
    /// The user was asked, and did not answer in time.
    Expired(QuestionId),
}

impl OutputEffect {
    /// Whether it carries text alone and references no record of the database.
    #[must_use]
    pub const fn is_of_words(&self) -> bool {
        matches!(self, Self::Answer(_) | Self::Said(_) | Self::Refused { .. })
    }
}

impl Output {
    /// Returns the run's answer, if the call gave it.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        match &self.effect {
            Some(OutputEffect::Answer(words)) => Some(words),
            _ => None,
        }
    }

    /// Returns the text that the call sent to the user, if any.
    #[must_use]
    pub fn said(&self) -> Option<&str> {
        match &self.effect {
            Some(OutputEffect::Said(words)) => Some(words),
            _ => None,
        }
    }

    /// Whether an output guardrail refused the text that the call was to send.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        matches!(self.effect, Some(OutputEffect::Refused { .. }))
    }

    /// Whether the call asked the user a question.
    #[must_use]
    pub const fn has_asked(&self) -> bool {
        use OutputEffect::{Asked, Declined, Expired};
        matches!(self.effect, Some(Asked(_) | Declined(_) | Expired(_)))
    }

    /// Returns the task that the call assigned, if any.
    #[must_use]
    pub const fn task(&self) -> Option<TaskId> {
        match self.effect {
            Some(OutputEffect::Delegated(task)) => Some(task),
            _ => None,
        }
    }
}

/// What the model reads from here on instead of the beginning of the session, which no longer fits
/// its context window. The items themselves stay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// The number of the first item that the model still reads itself.
    pub from: u64,
    /// The summary that replaces the items before it; empty if there are none.
    pub text: String,
    /// How many characters of one message or output the model reads, if its context window bounds
    /// even that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_chars: Option<usize>,
    /// The model that summarised them and what the call used; none if the text was extracted from
    /// the items.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub used: Option<ModelUse>,
    /// How that model was asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub asked: Option<Box<AskedSummary>>,
}

impl From<Turn> for ItemBody {
    fn from(turn: Turn) -> Self {
        Self::Turn(turn)
    }
}

impl From<Output> for ItemBody {
    fn from(output: Output) -> Self {
        Self::Output(output)
    }
}

impl From<SubOutput> for ItemBody {
    fn from(output: SubOutput) -> Self {
        Self::SubOutput(output)
    }
}

impl From<Notice> for ItemBody {
    fn from(notice: Notice) -> Self {
        Self::Notice(notice)
    }
}

impl From<Decision> for ItemBody {
    fn from(decision: Decision) -> Self {
        Self::Decision(decision)
    }
}

impl ItemBody {
    /// Whether it is of the code of a call, which only that code reads.
    #[must_use]
    pub const fn is_of_code(&self) -> bool {
        matches!(self, Self::SubCalls(_) | Self::SubOutput(_))
    }

    /// The name of the variant in storage.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Message(_) => "message",
            Self::Turn(_) => "turn",
            Self::Output(_) => "output",
            Self::SubCalls(_) => "sub_calls",
            Self::SubOutput(_) => "sub_output",
            Self::Decision(_) => "decision",
            Self::Notice(_) => "notice",
            Self::Digest(_) => "digest",
            Self::Context(_) => "context",
        }
    }

    /// The body without its type, as stored beside [`Self::type_name`].
    ///
    /// # Errors
    /// None in practice: every body is plain data.
    pub fn to_json(&self) -> serde_json::Result<String> {
        match self {
            Self::Message(body) => serde_json::to_string(body),
            Self::Turn(body) => serde_json::to_string(body),
            Self::Output(body) => serde_json::to_string(body),
            Self::SubCalls(body) => serde_json::to_string(body),
            Self::SubOutput(body) => serde_json::to_string(body),
            Self::Decision(body) => serde_json::to_string(body),
            Self::Notice(body) => serde_json::to_string(body),
            Self::Digest(body) => serde_json::to_string(body),
            Self::Context(body) => serde_json::to_string(body),
        }
    }

    /// Reads a body back from its two stored columns.
    ///
    /// # Errors
    /// If the type is unknown or the JSON is not of that type.
    pub fn from_json(type_name: &str, json: &str) -> serde_json::Result<Self> {
        Ok(match type_name {
            "message" => Self::Message(serde_json::from_str(json)?),
            "turn" => Self::Turn(serde_json::from_str(json)?),
            "output" => Self::Output(serde_json::from_str(json)?),
            "sub_calls" => Self::SubCalls(serde_json::from_str(json)?),
            "sub_output" => Self::SubOutput(serde_json::from_str(json)?),
            "decision" => Self::Decision(serde_json::from_str(json)?),
            "notice" => Self::Notice(serde_json::from_str(json)?),
            "digest" => Self::Digest(serde_json::from_str(json)?),
            "context" => Self::Context(serde_json::from_str(json)?),
            other => return Err(serde::de::Error::custom(format!("unknown item type `{other}`"))),
        })
    }
}
