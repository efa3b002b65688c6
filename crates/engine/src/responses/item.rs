//! The items of a run, split into one message, call, output or notice each.

use entourage_types::{AgentId, CallId, Item, ItemBody, Level, RunId, StopReason, Task, Time};
use serde::Serialize;
use serde_json::Value;

/// One message, call, output or notice in a thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunItem {
    /// A message to the agent.
    MessageInput(MessageInputItem),
    /// A text of the agent.
    MessageOutput(MessageOutputItem),
    /// A call that the agent requested.
    ToolCall(ToolCallItem),
    /// The output of a call.
    ToolCallOutput(ToolCallOutputItem),
    /// A remark of the engine: a guardrail's verdict, a limit that was reached.
    Notice(NoticeItem),
}

/// Where an item comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The agent whose thread it is, by name.
    pub agent: String,
    /// Who wrote to it in that thread: another agent, `user`, or the name that the person took.
    pub caller: String,
    /// The number of agents between this one and the person.
    pub depth: u16,
    /// The run.
    pub run: RunId,
    /// The run whose call it works for.
    pub parent_run: Option<RunId>,
    /// The thread.
    pub thread: AgentId,
}

impl Origin {
    /// The origin of a run that is to work on a task of this one; that run's own id is not known yet.
    pub(super) fn below(&self, task: &Task) -> Self {
        Self {
            agent: task.kind.clone(),
            caller: self.agent.clone(),
            depth: self.depth + 1,
            parent_run: Some(self.run),
            thread: task.to,
            run: self.run,
        }
    }
}

/// A message to the agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageInputItem {
    /// Where it comes from.
    pub origin: Origin,
    /// The text.
    pub text: String,
    /// When it was committed.
    pub at: Time,
}

/// A text of the agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageOutputItem {
    /// Where it comes from.
    pub origin: Origin,
    /// The text.
    pub text: String,
    /// When it was committed.
    pub at: Time,
}

/// A call that the agent requested.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCallItem {
    /// Where it comes from.
    pub origin: Origin,
    /// The call.
    pub call_id: CallId,
    /// The tool.
    pub tool: String,
    /// The arguments as the model gave them: an object, or a string that is not JSON.
    pub arguments: Value,
    /// When it was committed.
    pub at: Time,
}

/// The output of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCallOutputItem {
    /// Where it comes from.
    pub origin: Origin,
    /// The call that it answers.
    pub call_id: CallId,
    /// The tool.
    pub tool: String,
    /// The text that the model reads.
    pub output: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// When it was committed.
    pub at: Time,
}

/// A remark of the engine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoticeItem {
    /// Where it comes from.
    pub origin: Origin,
    /// How serious it is.
    pub level: Level,
    /// A stable word: `last_call`, `run_ended`, `input_accepted`, `output_rejected`…
    pub code: String,
    /// The limit that leaves the run its last call, or why the run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<StopReason>,
    /// A sentence for people.
    pub text: String,
    /// When it was committed.
    pub at: Time,
}

impl RunItem {
    /// Where it comes from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        match self {
            Self::MessageInput(item) => &item.origin,
            Self::MessageOutput(item) => &item.origin,
            Self::ToolCall(item) => &item.origin,
            Self::ToolCallOutput(item) => &item.origin,
            Self::Notice(item) => &item.origin,
        }
    }

    /// Whether the run produced it, rather than received it.
    pub(super) fn is_generated(&self) -> bool {
        !matches!(self, Self::MessageInput(_))
    }

    /// The run items of one item of a transcript.
    #[must_use]
    pub fn of(item: &Item, origin: &Origin) -> Vec<Self> {
        let (at, origin) = (item.at, origin.clone());
        match &item.body {
            ItemBody::Message(message) => {
                vec![Self::MessageInput(MessageInputItem { origin, text: message.text.clone(), at })]
            }
            ItemBody::Turn(turn) => {
                let said = MessageOutputItem { origin: origin.clone(), text: turn.text.clone(), at };
                let calls = turn.calls.iter().map(|call| {
                    Self::ToolCall(ToolCallItem {
                        origin: origin.clone(),
                        call_id: call.id,
                        tool: call.tool.clone(),
                        arguments: call.arguments.clone(),
                        at,
                    })
                });
                let said = (!turn.text.is_empty()).then_some(Self::MessageOutput(said));
                said.into_iter().chain(calls).collect()
            }
            ItemBody::Output(output) => vec![Self::ToolCallOutput(ToolCallOutputItem {
                origin,
                call_id: output.call,
                tool: output.tool.clone(),
                output: output.text.clone(),
                is_error: output.error,
                at,
            })],
            ItemBody::Notice(notice) => vec![Self::Notice(NoticeItem {
                origin,
                level: notice.level(),
                code: notice.code.as_str().to_owned(),
                reason: notice.code.reason(),
                text: notice.text.clone(),
                at,
            })],
            // A decision is for the program, and what code does for the code; the others are what the model reads beside
            // what was said, or instead of older items, which stay in the transcript.
            ItemBody::Decision(_)
            | ItemBody::Digest(_)
            | ItemBody::Context(_)
            | ItemBody::SubCalls(_)
            | ItemBody::SubOutput(_) => Vec::new(),
        }
    }
}
