//! A message of the main chat, as its document, and a piece of one under way.

use entourage_engine::{AgentDelta, Entry, Piece, Posted, Role};
use entourage_types::{AgentId, QuestionId, TaskId, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Family, of_item};
use crate::views::schema;

/// A message of the main chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatMessage)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChatMessageView {
    /// Its id.
    id: String,
    /// The chat.
    #[schema(value_type = schema::ChatId)]
    chat_id: AgentId,
    /// Who speaks.
    role: ChatRole,
    /// The text.
    content: String,
    /// What it is about.
    metadata: Metadata,
    /// When it was said.
    #[schema(value_type = schema::Time)]
    created_at: Time,
}

/// Who speaks in the main chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ChatRole {
    /// The person.
    User,
    /// The orchestrator, for itself or for a sub-agent.
    Assistant,
}

/// What a message of the main chat is about.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = ChatMetadata)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    /// The task that waits, or whose result is told: for a client to highlight.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TaskId>)]
    task_id: Option<TaskId>,
    /// The orchestrator's sub-agent that the task is given to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::SubAgentId>)]
    sub_agent_id: Option<AgentId>,
    /// The question that is asked; its answer may be given to it directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::QuestionId>)]
    question_id: Option<QuestionId>,
    /// What sort of message it is, where it is not just words.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    sort: Option<MessageSort>,
}

/// What sort of message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum MessageSort {
    /// A sub-agent asks.
    Question,
    /// Something failed.
    Error,
    /// A check refused it after it was told: there is nothing to show.
    Refused,
}

impl ChatMessageView {
    /// The document of an entry of the main chat.
    pub(crate) fn of(chat: AgentId, entry: Entry, family: &Family) -> Self {
        let id = match (entry.post, entry.question, entry.item_seq) {
            (Some(post), ..) => post.to_string(),
            (_, Some(question), _) => question.to_string(),
            (.., seq) => of_item(chat, seq.unwrap_or_default()),
        };
        let own = entry.agent.and_then(|agent| family.own(agent)).map(|agent| agent.id);
        // Who asks may stand deeper: what the user knows of is the orchestrator's own task.
        let task = own.and_then(|own| family.task_of(own)).map(|task| task.id);
        let sort = match entry.role {
            Role::Question => Some(MessageSort::Question),
            Role::Notice => Some(MessageSort::Error),
            Role::Assistant if entry.retryable.is_some() => Some(MessageSort::Error),
            Role::User | Role::Assistant => None,
        };
        let metadata =
            Metadata { task_id: task.or(entry.task), sub_agent_id: own, question_id: entry.question, sort };
        let role = if entry.role == Role::User { ChatRole::User } else { ChatRole::Assistant };
        Self { id, chat_id: chat, role, content: entry.text, metadata, created_at: entry.at }
    }

    /// The document of an answer that was told before a check refused it.
    pub(crate) fn taken_back(chat: AgentId, entry: Entry, family: &Family) -> Self {
        let mut document = Self::of(chat, entry, family);
        document.content.clear();
        document.metadata.sort = Some(MessageSort::Refused);
        document
    }

    /// The document of a message that was just taken.
    pub(crate) fn taken(posted: Posted, content: String, at: Time) -> Self {
        Self {
            id: posted.post.to_string(),
            chat_id: posted.agent,
            role: ChatRole::User,
            content,
            metadata: Metadata::default(),
            created_at: at,
        }
    }
}

/// A piece of a message under way. It has no number and is never sent again: the whole message comes
/// as a document with the same id. Texts of one attempt, each put at its offset, are its beginning; a
/// higher attempt begins anew.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatDelta)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChatDeltaView {
    /// The id that the message will have, if it becomes one.
    message_id: String,
    /// The sub-agent that speaks; none when the orchestrator does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::SubAgentId>)]
    sub_agent_id: Option<AgentId>,
    /// Which attempt at the message.
    attempt: u64,
    /// Where the text begins, in characters.
    offset: u64,
    /// The text; null where the attempt failed and what it said is void.
    text: Option<String>,
}

impl ChatDeltaView {
    /// A piece of text; none of what else a model says.
    pub(crate) fn of(chat: AgentId, delta: &AgentDelta) -> Option<Self> {
        let text = match &delta.piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Reset => None,
            Piece::Reasoning(_) | Piece::Call(_) => return None,
        };
        Some(Self {
            message_id: of_item(delta.agent, delta.item_seq),
            sub_agent_id: (delta.agent != chat).then_some(delta.agent),
            attempt: delta.attempt,
            offset: delta.offset,
            text,
        })
    }
}
