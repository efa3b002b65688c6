//! What one owner may see and do. A foreign id reads as if it did not exist.

mod accounts;
mod agencies;
mod answer;
mod asked;
mod bounded_scan;
mod budget;
mod chat_message;
mod chats;
mod console_logins;
mod context;
mod create;
mod documents;
mod events;
pub mod explorer;
mod find;
mod forget;
mod goals;
mod grants;
mod idempotency;
mod inbox;
mod intervene;
mod kinds;
mod last_words;
mod memory;
mod model_calls;
mod nested_runs;
mod news;
mod operator;
mod owner_limit;
mod page;
mod read;
mod records;
mod reply;
mod request;
mod request_of_item;
mod schedules;
mod secrets;
mod send;
mod servers;
mod steps;
mod switch_limit;
mod texts;
mod timeline;
mod transcript;
mod tree_at;
mod usage;
mod wake;
mod webhooks;
mod why;

use std::sync::Arc;

use entourage_types::{Owner, Scope};

use crate::{Engine, FeedMemory};

pub use asked::{AskedQuestion, QuestionFilter};
pub use bounded_scan::Narrowed;
pub use budget::{BudgetState, MOST_GRANTED_AT_ONCE};
pub use chat_message::{AcceptedMessage, ChatMessage};
pub use context::{Block, Seen};
pub use create::NewAgent;
pub use documents::{
    AcceptedAct, ActResult, DiffHunk, DiffLine, DocumentDiff, ExpectedVersion, ExportedFile, FoundDocument,
    NewAct, NewProject, OnceKey, ProjectChange, ProjectExport, ProjectMessage, Replaced, file_names,
};
pub use events::{EventFilter, EventPage};
pub use explorer::{
    ActiveAgent, ActiveNode, ActiveTree, EarlierMessage, ExplorationInput, NewExploration, Overrides, Speaker,
};
pub use find::{AgentFilter, Child, RunFilter};
pub use goals::{GoalChange, NewGoal, USER_AGENT};
pub use kinds::{KindUsage, KindVersion};
pub use model_calls::ModelCall;
pub use nested_runs::NestedRunRef;
pub use operator::{EngineState, FoundInconsistency, GateRecord, JobRecord};
pub use page::{PageEnd, PageLimit};
pub use request::{PrefixBreak, RebuiltRequest, RequestBefore};
pub use schedules::NewSchedule;
pub use secrets::Resealed;
pub use send::Posted;
pub use servers::{ServerRecord, ServerTool};
pub use timeline::TimelineBucket;
pub use transcript::{Entry, Role, TranscriptRenderer};
pub use tree_at::{PastAgent, PastTree};
pub use usage::TreeUsage;
pub use webhooks::{FailedAttempt, ReceiverRecord};
pub use why::{Cause, Link, Why};

pub(crate) use agencies::chat_in;
pub(crate) use last_words::last_words;
pub(crate) use texts::checked_name;

use texts::{LONGEST_NAME, LONGEST_TEXT, checked_text};

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
