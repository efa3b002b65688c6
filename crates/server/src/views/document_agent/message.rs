//! The messages of a chat about the documents of a project.

use entourage_api::schema;
use entourage_engine::{ProjectMessage, Speaker};
use entourage_types::{Act, ActMetadata, Time};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// So many messages of a chat have ids of their own: far more than a chat can have.
const OF_A_CHAT: u64 = 1_000_000;

/// A message of a chat (S5-R113, S5-R114).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NumberedMessage)]
pub(crate) struct MessageView {
    /// Its id, which no other message of the owner has.
    id: u64,
    /// The chat, for the next message.
    chat_id: u64,
    /// Who said it.
    role: MessageRole,
    /// The text.
    content: String,
    /// For an answer, what the message before came to; empty otherwise.
    metadata: MessageMetadata,
    /// When.
    #[schema(value_type = schema::Time)]
    created_at: Time,
}

/// Who said a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum MessageRole {
    /// The user.
    User,
    /// The agent.
    Assistant,
}

/// What was decided and done (S5-R100). All of it is left out for a message of the user, and where nothing was decided.
#[derive(Debug, Default, Serialize, ToSchema)]
struct MessageMetadata {
    /// What the model decided, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Value>,
    /// Whether the web was searched, and gave results.
    #[serde(skip_serializing_if = "Option::is_none")]
    web_search_performed: Option<bool>,
    /// Whether a document was changed; a new one does not count (S5-R101).
    #[serde(skip_serializing_if = "Option::is_none")]
    document_updated: Option<bool>,
    /// Whether the model wanted to ask what the user means.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_clarification: Option<bool>,
    /// Whether the model wanted the user to confirm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_confirmation: Option<bool>,
    /// Whether the model wanted a new document.
    #[serde(skip_serializing_if = "Option::is_none")]
    should_create: Option<bool>,
}

impl From<Act> for MessageMetadata {
    fn from(act: Act) -> Self {
        let ActMetadata {
            decision,
            web_search_performed,
            document_updated,
            needs_clarification,
            pending_confirmation,
            should_create,
        } = act.metadata();
        Self {
            decision: Some(decision),
            web_search_performed: Some(web_search_performed),
            document_updated: Some(document_updated),
            needs_clarification: Some(needs_clarification),
            pending_confirmation: Some(pending_confirmation),
            should_create: Some(should_create),
        }
    }
}

impl MessageView {
    /// The message, of the chat with this number.
    pub(crate) fn of(chat: u64, message: ProjectMessage) -> Self {
        let ProjectMessage { seq, role, text, at, act, .. } = message;
        Self {
            id: Self::id_of(chat, seq),
            chat_id: chat,
            role: match role {
                Speaker::User => MessageRole::User,
                Speaker::Assistant => MessageRole::Assistant,
            },
            content: text,
            metadata: act.map(MessageMetadata::from).unwrap_or_default(),
            created_at: at,
        }
    }

    /// The id of the message at this place of a chat.
    const fn id_of(chat: u64, seq: u64) -> u64 {
        chat.saturating_mul(OF_A_CHAT).saturating_add(seq)
    }
}
