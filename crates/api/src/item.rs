//! An entry of a transcript.

use entourage_types::{
    self as types, AgentId, CallId, PostId, RunId, ScheduleId, Section, Status, StepKey, StopReason, TaskId,
    Time,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{Asked, ModelUse, OutputEffect, ToolCall, schema};

/// One entry of an agent's transcript, written once and never changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Item {
    /// The agent whose transcript it is in.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// Its number in the transcript, from 0 without gaps.
    pub seq: u64,
    /// The run that wrote it.
    #[schema(value_type = schema::RunId)]
    pub run: RunId,
    /// The session it belongs to.
    pub session: u32,
    /// When it was committed.
    #[schema(value_type = schema::Time)]
    pub at: Time,
    /// The key of the step of its run whose result it is; left out if it is no step's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "model/2")]
    pub step: Option<StepKey>,
    /// Its content.
    #[serde(flatten)]
    pub body: ItemBody,
}

/// The content of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ItemBody {
    /// A message to the agent.
    Message {
        /// The author.
        from: Author,
        /// The text, as given.
        text: String,
        /// The task that it assigns, or whose result it delivers.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::TaskId>)]
        task: Option<TaskId>,
        /// With a result: how the task ended. Left out of a message without a result.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::Status>)]
        ended: Option<Status>,
        /// The post of a person's message.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::PostId>)]
        post: Option<PostId>,
        /// The options of the run that answers it, if its sender set any.
        #[serde(skip_serializing_if = "Option::is_none")]
        options: Option<RunOptions>,
    },
    /// The agent's text, its tool calls, or both.
    Turn {
        /// The agent's text; left out when there is none.
        #[serde(skip_serializing_if = "String::is_empty", default)]
        #[schema(required = false)]
        text: String,
        /// The calls, in the order asked for; left out when there are none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        #[schema(required = false)]
        calls: Vec<ToolCall>,
        /// The model that answered and what that call used; left out when a program logged its own call.
        #[serde(skip_serializing_if = "Option::is_none")]
        used: Option<ModelUse>,
        /// How the model was asked; left out when a program logged its own call, or an earlier release did not
        /// record it.
        #[serde(skip_serializing_if = "Option::is_none")]
        asked: Option<Asked>,
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
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        #[schema(required = false)]
        error: bool,
        /// Its effect on the run; left out if it has none beyond its text.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::OutputEffect>)]
        effect: Option<OutputEffect>,
        /// What a client may show beside the text, in the tool's own format; neither the model nor the server
        /// reads it.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// Calls that the code of a call makes.
    SubCalls {
        /// The call whose code makes them.
        #[schema(value_type = schema::CallId)]
        of: CallId,
        /// The calls, in the order in which the code makes them.
        calls: Vec<ToolCall>,
    },
    /// What one call of code returned to the code.
    SubOutput {
        /// The call whose code made it.
        #[schema(value_type = schema::CallId)]
        of: CallId,
        /// The call of the code.
        #[schema(value_type = schema::CallId)]
        call: CallId,
        /// The tool's name.
        tool: String,
        /// The text that the code reads.
        text: String,
        /// Whether the call failed; left out when it did not.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        #[schema(required = false)]
        error: bool,
        /// Its effect; left out if it has none beyond its text.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<schema::OutputEffect>)]
        effect: Option<OutputEffect>,
        /// What a client may show beside the text, in the tool's own format.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// A named decision of the model.
    Decision {
        /// The decision's name.
        name: String,
        /// The answer; left out if there is none.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
        /// The text of an answer that did not fit; the model was asked once more.
        #[serde(skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
        /// Why there is no answer, or what is wrong with the refused one.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// The model that answered and what that used; left out if none did.
        #[serde(skip_serializing_if = "Option::is_none")]
        used: Option<ModelUse>,
        /// How the model was asked; left out if none answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        asked: Option<Asked>,
    },
    /// What the model sees from here on instead of the beginning of the session.
    Digest {
        /// The number of the first item that the model still sees itself.
        from: u64,
        /// The text that replaces the earlier items; empty when there are none.
        text: String,
        /// How many characters of one message or output the model sees; left out if its kind decides.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_chars: Option<usize>,
        /// The model that summed them up and what that used; left out if none did.
        #[serde(skip_serializing_if = "Option::is_none")]
        used: Option<ModelUse>,
        /// How that model was asked; left out if none was.
        #[serde(skip_serializing_if = "Option::is_none")]
        asked: Option<Asked>,
    },
    /// What the model reads beside the conversation and had not read yet.
    Context {
        /// The lines, in order.
        entries: Vec<ContextEntry>,
    },
    /// A notice of the server.
    Notice {
        /// How serious it is.
        level: Level,
        /// A stable code for programs: `last_call`, `run_ended`, `input_accepted`, `output_rejected`, `asked_to_send`,
        /// `nothing_sent`, `progress`, `unedited_result`, `over_budget`.
        code: String,
        /// With `last_call` and `run_ended`: the limit that was reached, or why the run ended.
        #[schema(value_type = Option<schema::StopReason>)]
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<StopReason>,
        /// A sentence for people.
        text: String,
        /// The original error message, if people read another text.
        #[serde(skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
        /// With a failure: `false`, because the server does not retry by itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        retryable: Option<bool>,
    },
}

/// One line that the model reads beside the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ContextEntry {
    /// Its section: `time`, `notes`, `learnings` or `sub_agents`.
    #[schema(value_type = schema::Section)]
    pub section: Section,
    /// The id of the note, learning or agent that it shows; left out for the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The line as the model reads it.
    pub text: String,
}

/// The author of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Author {
    /// The person whose agent it is.
    User,
    /// Another agent of the tree.
    Agent {
        /// The agent's id.
        #[schema(value_type = schema::AgentId)]
        id: AgentId,
        /// Its kind.
        kind: String,
    },
    /// Nobody: its time had come, or something outside happened.
    Trigger {
        /// The trigger's name.
        name: String,
        /// What comes with it, of any JSON type.
        payload: Value,
        /// The schedule that fired; left out if it was fired by hand.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        #[schema(value_type = Option<schema::ScheduleId>)]
        schedule: Option<ScheduleId>,
    },
}

/// How serious a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Something ended early, or was repaired.
    Warning,
    /// Something failed.
    Error,
}

/// The options of the run that answers a message; the message then has a run of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunOptions {
    /// How many agents are between this run and the person who started the work.
    pub depth: u16,
    /// How deep agents may delegate the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u16>,
    /// The most model calls in this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// A guardrail that its answer must pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validator: Option<String>,
}

impl From<types::RunOptions> for RunOptions {
    fn from(
        types::RunOptions { depth, max_depth, max_steps, validator, about: _ }: types::RunOptions,
    ) -> Self {
        Self { depth, max_depth, max_steps, validator }
    }
}

impl From<types::Item> for Item {
    fn from(item: types::Item) -> Self {
        let types::Item { agent, seq, run, session, at, step, body } = item;
        Self { agent, seq, run, session, at, step, body: body.into() }
    }
}

impl From<types::ItemBody> for ItemBody {
    fn from(body: types::ItemBody) -> Self {
        match body {
            types::ItemBody::Message(types::Message { from, text, task, ended, post, options }) => {
                let options = options.map(RunOptions::from);
                Self::Message { from: from.into(), text, task, ended, post, options }
            }
            types::ItemBody::Turn(types::Turn { text, calls, used, asked }) => Self::Turn {
                text,
                calls: calls.into_iter().map(ToolCall::from).collect(),
                used: used.map(ModelUse::from),
                asked: asked.map(|asked| Asked::from(*asked)),
            },
            types::ItemBody::Output(types::Output { call, tool, text, error, effect, details }) => {
                let effect = effect.map(OutputEffect::from);
                Self::Output { call, tool, text, error, effect, details }
            }
            types::ItemBody::SubCalls(types::SubCalls { of, calls }) => {
                Self::SubCalls { of, calls: calls.into_iter().map(ToolCall::from).collect() }
            }
            types::ItemBody::SubOutput(types::SubOutput { of, output }) => {
                let types::Output { call, tool, text, error, effect, details } = output;
                let effect = effect.map(OutputEffect::from);
                Self::SubOutput { of, call, tool, text, error, effect, details }
            }
            types::ItemBody::Decision(types::Decision {
                name,
                outcome,
                used,
                asked,
                prompt: _,
                cause: _,
                flaw: _,
            }) => {
                let (value, refused, why) = match outcome {
                    types::DecisionOutcome::Value(value) => (Some(value), None, None),
                    types::DecisionOutcome::Refused { answer, why } => (None, Some(answer), Some(why)),
                    types::DecisionOutcome::Failed(why) => (None, None, Some(why)),
                };
                let (used, asked) = (used.map(ModelUse::from), asked.map(|asked| Asked::from(*asked)));
                Self::Decision { name, value, refused, why, used, asked }
            }
            types::ItemBody::Digest(types::Digest { from, text, max_chars, used, asked }) => {
                let asked = asked.map(|summary| Asked::from(summary.asked));
                Self::Digest { from, text, max_chars, used: used.map(ModelUse::from), asked }
            }
            types::ItemBody::Context(types::Context { entries }) => {
                let entry =
                    |types::ContextEntry { section, about, text }| ContextEntry { section, about, text };
                Self::Context { entries: entries.into_iter().map(entry).collect() }
            }
            types::ItemBody::Notice(types::Notice { code, text, cause, failed: _ }) => {
                let (level, reason) = (code.level(), code.reason());
                let retryable = (level == types::Level::Error).then_some(false);
                let code = code.as_str().to_owned();
                Self::Notice { level: level.into(), code, reason, text, cause, retryable }
            }
        }
    }
}

impl From<types::Author> for Author {
    fn from(author: types::Author) -> Self {
        match author {
            types::Author::User => Self::User,
            types::Author::Agent { id, kind } => Self::Agent { id, kind },
            types::Author::Trigger { trigger } => {
                let types::Trigger { name, payload, schedule } = *trigger;
                Self::Trigger { name, payload, schedule }
            }
        }
    }
}

impl From<types::Level> for Level {
    fn from(level: types::Level) -> Self {
        match level {
            types::Level::Info => Self::Info,
            types::Level::Warning => Self::Warning,
            types::Level::Error => Self::Error,
        }
    }
}
