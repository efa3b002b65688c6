//! What one owner may see and do. A foreign id reads as if it did not exist.

mod agencies;
mod answer;
mod asked;
mod budget;
mod chat_message;
mod chats;
mod context;
mod create;
mod events;
mod find;
mod forget;
mod grants;
mod idempotency;
mod intervene;
mod kinds;
mod memory;
mod narrow;
mod nested_runs;
mod news;
mod operator;
mod page;
mod read;
mod records;
mod reply;
mod request;
mod request_of_item;
mod schedules;
mod send;
mod steps;
mod timeline;
mod transcript;
mod tree_at;
mod usage;
mod wake;
mod webhooks;
mod why;

use std::sync::Arc;

use entourage_types::{Agent, Author, Owner, Post, PostBody, Scope};

use crate::{Engine, FeedMemory};

pub use asked::{AskedQuestion, QuestionFilter};
pub use budget::{BudgetState, MOST_GRANTED_AT_ONCE};
pub use chat_message::{AcceptedMessage, ChatMessage};
pub use context::{Block, Seen};
pub use create::NewAgent;
pub use events::{EventFilter, EventPage};
pub use find::{AgentFilter, Child, RunFilter};
pub use kinds::{KindUsage, KindVersion};
pub use narrow::Narrowed;
pub use nested_runs::NestedRunRef;
pub use operator::{EngineState, FoundInconsistency, GateRecord, JobRecord};
pub use page::{PageEnd, PageLimit};
pub use request::{PrefixBreak, RebuiltRequest, RequestBefore};
pub use schedules::NewSchedule;
pub use send::Posted;
pub use timeline::TimelineBucket;
pub use transcript::{Entry, Role, TranscriptRenderer};
pub use tree_at::{PastAgent, PastTree};
pub use usage::TreeUsage;
pub use webhooks::{FailedAttempt, ReceiverRecord};
pub use why::{Cause, Link, Why};

/// An engine as one owner sees it.
#[derive(Clone)]
pub struct Client {
    engine: Engine,
    owner: Owner,
    scope: Scope,
    is_operator: bool,
    memory: Option<Arc<FeedMemory>>,
}

impl Client {
    pub(crate) fn new(engine: Engine, owner: Owner) -> Self {
        let scope = Scope::from(&owner);
        let is_operator = owner == Owner::local();
        Self { engine, owner, scope, is_operator, memory: None }
    }

    /// Sets whether this client is the operator's: only the operator may do what concerns the whole engine.
    /// Unless set, only that of the owner `local` is.
    #[must_use]
    pub fn operating(self, is_operator: bool) -> Self {
        Self { is_operator, ..self }
    }

    /// Sets how much memory this client's streams share.
    #[must_use]
    pub fn within(self, memory: Arc<FeedMemory>) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// Whether this client is the operator's.
    #[must_use]
    pub const fn is_operator(&self) -> bool {
        self.is_operator
    }

    /// The owner.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }
}

/// The longest text that a person may send, in bytes of UTF-8; more belongs into a file.
const LONGEST_TEXT: usize = 1 << 20;

/// The longest name or title, in characters.
const LONGEST_NAME: usize = 255;

/// From so many bytes of unread text on, an agent's inbox takes no more; the agent reads all of it at once.
const MOST_UNREAD: usize = 16 << 20;

impl Client {
    /// Refuses more text for an agent whose inbox has too much unread text.
    async fn check_room(&self, agent: &Agent) -> crate::Result<()> {
        let words = |post: &Post| match &post.body {
            PostBody::Message { from: Author::Trigger { trigger }, text, .. } => {
                text.len() + trigger.payload.to_string().len()
            }
            PostBody::Message { text, .. } => text.len(),
            PostBody::Intervention { text, .. } => text.as_ref().map_or(0, String::len),
            _ => 0,
        };
        let unread: usize = self.inbox(agent).await?.iter().map(words).sum();
        if unread < MOST_UNREAD {
            return Ok(());
        }
        let why = "its inbox is full; wait until it has read some messages";
        Err(crate::Error::NotNow { agent: agent.id, why })
    }

    /// The unread posts of an agent. The store itself gives those of any owner.
    async fn inbox(&self, agent: &Agent) -> crate::Result<Vec<Post>> {
        if !self.scope.sees(&agent.owner) {
            return Err(crate::Error::not_found("agent", agent.id));
        }
        Ok(self.engine.store().inbox(agent.id).await?)
    }
}

/// Refuses a name or a title that is too long. The error does not repeat it: it may be very long.
fn checked_name(what: &str, name: &str) -> crate::Result<()> {
    let length = name.chars().count();
    if length > LONGEST_NAME {
        return Err(crate::Error::Invalid(format!(
            "the {what} has {length} characters; at most {LONGEST_NAME} are taken"
        )));
    }
    Ok(())
}

/// Refuses a text that is empty or too long.
fn checked_text(text: &str) -> crate::Result<()> {
    if text.trim().is_empty() {
        return Err(crate::Error::Invalid("the message is empty: say what the agent shall do".into()));
    }
    if text.len() > LONGEST_TEXT {
        return Err(crate::Error::Invalid(format!(
            "the message has {} bytes; at most {LONGEST_TEXT} are taken. Put long material into a file that the agent can read",
            text.len()
        )));
    }
    Ok(())
}
