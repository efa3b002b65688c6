//! The messages of a chat about the documents of a project.

use entourage_api::schema;
use entourage_engine::{ProjectMessage, Speaker};
use entourage_types::{Act, ActOutcome, Time};
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

/// What a message came to (S5-R100); empty for a message of the user, and where nothing was decided.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum MessageMetadata {
    /// Of an answer.
    Acted(Box<ActMetadata>),
    /// Of a message of the user.
    None {},
}

/// What was decided and done.
#[derive(Debug, Serialize, ToSchema)]
struct ActMetadata {
    /// What the model decided, whole.
    decision: Value,
    /// Whether the web was searched, and gave results.
    web_search_performed: bool,
    /// Whether a document was changed; a new one does not count (S5-R101).
    document_updated: bool,
    /// Whether the model asked what the user means.
    needs_clarification: bool,
    /// Whether the model asked the user to confirm.
    pending_confirmation: bool,
    /// Whether the model wanted a new document.
    should_create: bool,
}

impl ActMetadata {
    fn of(act: Act) -> Self {
        let decided = |field: &str| act.decision.get(field).and_then(Value::as_bool).unwrap_or_default();
        Self {
            web_search_performed: act.web_search_performed,
            document_updated: act.outcome == ActOutcome::Updated,
            needs_clarification: decided("needs_clarification"),
            pending_confirmation: decided("pending_confirmation"),
            should_create: decided("should_create"),
            decision: act.decision,
        }
    }
}

impl MessageView {
    /// The message, of the chat with this number.
    pub(crate) fn of(chat: u64, message: ProjectMessage) -> Self {
        let ProjectMessage { seq, role, text, at, act, .. } = message;
        let acted = |act| MessageMetadata::Acted(Box::new(ActMetadata::of(act)));
        Self {
            id: Self::id_of(chat, seq),
            chat_id: chat,
            role: match role {
                Speaker::User => MessageRole::User,
                Speaker::Assistant => MessageRole::Assistant,
            },
            content: text,
            metadata: act.map_or(MessageMetadata::None {}, acted),
            created_at: at,
        }
    }

    /// The id of the message at this place of a chat.
    const fn id_of(chat: u64, seq: u64) -> u64 {
        chat.saturating_mul(OF_A_CHAT).saturating_add(seq)
    }
}
