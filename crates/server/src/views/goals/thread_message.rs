//! The document of a message in a thread: what the user said, what the agent sent, the tools it used, and what failed.

use entourage_api::schema;
use entourage_engine::Posted;
use entourage_types::{CallId, Failed, FailureClass, PostId, QuestionId, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Agentable, AgentableType};
use crate::views::chats::sent_at;

/// A message in a thread.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = ThreadMessage)]
pub(crate) struct ThreadMessageView {
    /// Its id. A message with the same id replaces one that came before.
    pub(crate) id: String,
    /// What the thread belongs to.
    pub(crate) agentable_type: AgentableType,
    /// Its id.
    pub(crate) agentable_id: String,
    /// Who it is from.
    pub(crate) source: Source,
    /// Whether it is a text, or shows that a tool is used.
    pub(crate) message_type: MessageType,
    /// The text.
    pub(crate) content: String,
    /// What else there is to know of it.
    pub(crate) metadata: Metadata,
    /// Whether the agent has read it; true for what the agent itself did.
    pub(crate) processed: bool,
    /// When it was written.
    #[schema(value_type = schema::Time)]
    pub(crate) created_at: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    pub(crate) updated_at: Time,
}

/// Who a message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// The user.
    User,
    /// The agent.
    Agent,
    /// The engine, about what failed.
    Error,
}

/// Whether a message is a text, or shows that a tool is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageType {
    /// A text.
    Text,
    /// A tool is used.
    Tool,
}

/// What else there is to know of a message: about the use of a tool, or about a failure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
#[schema(as = ThreadMessageMetadata)]
pub(crate) struct Metadata {
    /// The tool that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_name: Option<String>,
    /// The use of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::CallId>)]
    pub(crate) tool_call_id: Option<CallId>,
    /// How far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<ActivityStatus>,
    /// The question about it that waits for the user's answer, at `/v1/questions/{id}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::QuestionId>)]
    pub(crate) question_id: Option<QuestionId>,
    /// What sort of failure of a model it was. Left out of a failure that is none of a model, such as a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::FailureClass>)]
    pub(crate) error_class: Option<FailureClass>,
    /// How many attempts have failed, with `error_class`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempt: Option<u32>,
    /// When the next attempt is made; null if none is. Given with each failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Time>)]
    pub(crate) next_retry_at: Option<Option<Time>>,
    /// Whether another attempt will be made. Given with each failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retryable: Option<bool>,
    /// True in the last form of a failure that a later attempt has overcome: show nothing of it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resolved: Option<bool>,
}

/// How far the use of a tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ActivityStatus {
    /// It has begun.
    Running,
    /// It waits for the user's answer to a question.
    AwaitingUser,
    /// It has ended.
    Completed,
    /// It has failed.
    Failed,
}

impl Metadata {
    /// Of a failure, with the attempts at a model call that failed, and with the time of the next one if there is one.
    pub(crate) fn of_failure(failed: Option<Failed>, next: Option<Time>) -> Self {
        Self {
            error_class: failed.map(|failed| failed.class),
            attempt: failed.map(|failed| failed.attempts),
            next_retry_at: Some(next),
            retryable: Some(next.is_some()),
            ..Self::default()
        }
    }
}

impl ThreadMessageView {
    /// A text.
    pub(crate) fn text(of: &Agentable, id: String, source: Source, content: String, at: Time) -> Self {
        Self {
            id,
            agentable_type: of.sort,
            agentable_id: of.id.clone(),
            source,
            message_type: MessageType::Text,
            content,
            metadata: Metadata::default(),
            processed: true,
            created_at: at,
            updated_at: at,
        }
    }

    /// A message of the user that the agent has not read yet.
    pub(crate) fn unread(of: &Agentable, post: PostId, content: String, at: Time) -> Self {
        let at = sent_at(post).unwrap_or(at);
        Self { processed: false, ..Self::text(of, post.to_string(), Source::User, content, at) }
    }

    /// A message of the user that was taken, now or when it came first.
    pub(crate) fn taken(of: &Agentable, posted: Posted, content: String, processed: bool, now: Time) -> Self {
        Self { processed, ..Self::unread(of, posted.post, content, now) }
    }
}
