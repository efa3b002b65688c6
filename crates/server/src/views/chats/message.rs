//! The document of a message of the main chat, and of a piece of one under way.

use entourage_api::schema;
use entourage_engine::{AgentDelta, Entry, Piece, Posted, Role};
use entourage_types::{AgentId, PostId, QuestionId, TaskId, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::{TreeIndex, of_item};

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
    /// The author.
    role: ChatRole,
    /// The text.
    content: String,
    /// What it is about.
    metadata: Metadata,
    /// When it was sent.
    #[schema(value_type = schema::Time)]
    created_at: Time,
}

/// The author of a message of the main chat.
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
    /// The task that waits, or whose result it reports, for a client to highlight.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TaskId>)]
    task_id: Option<TaskId>,
    /// The orchestrator's sub-agent to which the task is assigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::SubAgentId>)]
    sub_agent_id: Option<AgentId>,
    /// The question that it asks; a client may also answer the question directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::QuestionId>)]
    question_id: Option<QuestionId>,
    /// The type of message, if it is more than text.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    sort: Option<MessageSort>,
}

/// The type of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum MessageSort {
    /// A sub-agent asks.
    Question,
    /// Something failed.
    Error,
    /// A guardrail refused it after it was sent: show nothing of it.
    Refused,
}

impl ChatMessageView {
    /// The document of an entry of the main chat.
    pub(crate) fn of(chat: AgentId, entry: Entry, tree: &TreeIndex) -> Self {
        let id = match (entry.post, entry.question, entry.item_seq) {
            (Some(post), ..) => post.to_string(),
            (_, Some(question), _) => question.to_string(),
            (.., seq) => of_item(chat, seq.unwrap_or_default()),
        };
        let own = entry.agent.and_then(|agent| tree.own(agent)).map(|agent| agent.id);
        // The asking agent may be deeper in the tree; the user knows only the orchestrator's own task.
        let task = own.and_then(|own| tree.task_of(own)).map(|task| task.id);
        let sort = match entry.role {
            Role::Question => Some(MessageSort::Question),
            Role::Notice => Some(MessageSort::Error),
            Role::Assistant if entry.retryable.is_some() => Some(MessageSort::Error),
            Role::User | Role::Assistant => None,
        };
        let metadata =
            Metadata { task_id: task.or(entry.task), sub_agent_id: own, question_id: entry.question, sort };
        let role = if entry.role == Role::User { ChatRole::User } else { ChatRole::Assistant };
        // The entry of a message has the time at which the agent read it, once it has.
        let created_at = entry.post.and_then(sent_at).unwrap_or(entry.at);
        Self { id, chat_id: chat, role, content: entry.text, metadata, created_at }
    }

    /// The document of an answer that was sent before a guardrail refused it.
    pub(crate) fn taken_back(chat: AgentId, entry: Entry, tree: &TreeIndex) -> Self {
        let mut document = Self::of(chat, entry, tree);
        document.content.clear();
        document.metadata.sort = Some(MessageSort::Refused);
        document
    }

    /// The document of a message that was just accepted.
    pub(crate) fn taken(posted: Posted, content: String, now: Time) -> Self {
        Self {
            id: posted.post.to_string(),
            chat_id: posted.agent,
            role: ChatRole::User,
            content,
            metadata: Metadata::default(),
            created_at: sent_at(posted.post).unwrap_or(now),
        }
    }
}

/// When a message was sent, to the millisecond: its post's id has the time. The same before the agent reads
/// it, afterwards, and for a request that is repeated.
pub(crate) fn sent_at(post: PostId) -> Option<Time> {
    let (seconds, nanos) = post.uuid().get_timestamp()?.to_unix();
    let micros = i64::try_from(seconds).ok()?.checked_mul(1_000_000)?;
    Some(Time::from_micros(micros + i64::from(nanos / 1_000)))
}

/// A piece of a message under way. It has no number and is never sent again: the whole message follows as a
/// document with the same id. The texts of one attempt, each placed at its offset, are the message's
/// beginning; a higher attempt starts over.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatDelta)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChatDeltaView {
    /// The id that the message will have, if it becomes one.
    message_id: String,
    /// The sub-agent that writes it; left out if the orchestrator does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::SubAgentId>)]
    sub_agent_id: Option<AgentId>,
    /// The number of the attempt at the message.
    attempt: u64,
    /// Where the text begins, in characters.
    offset: u64,
    /// The text; null if the attempt failed and its text so far is void.
    text: Option<String>,
}

impl ChatDeltaView {
    /// The document of a piece of text; `None` for any other output of a model.
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
