//! What a store must know of its rows before a commit can be judged.

use entourage_types::{Agent, AgentId, Amount, Budget, BudgetId, EntityKind, Owner, RunId, Time};

use crate::{Error, InboxSize, Result};

/// Reads the facts that the judgement of a commit depends on, inside the transaction that writes.
pub trait Facts {
    /// The error of a failed read.
    type Error;

    /// The agent, with the epoch of its last claim.
    ///
    /// # Errors
    /// If the store fails, as in all other methods.
    fn agent(&mut self, id: AgentId) -> Result<Option<Agent>, Self::Error>;

    /// Whether the agent exists.
    fn agent_exists(&mut self, id: AgentId) -> Result<bool, Self::Error>;

    /// The existing agent that a new one conflicts with: of the same id, or of the same key in its tree.
    fn conflicting_agent(&mut self, new: &Agent) -> Result<Option<AgentId>, Self::Error>;

    /// The agent of a run, if the run exists.
    fn agent_of_run(&mut self, run: RunId) -> Result<Option<AgentId>, Self::Error>;

    /// The state of a record, if it exists.
    fn record_state(&mut self, kind: EntityKind, id: &str) -> Result<Option<RecordState>, Self::Error>;

    /// The id of the record of this noun and owner that has this name, if one has it.
    fn holder_of_name(
        &mut self,
        kind: EntityKind,
        owner: &Owner,
        name: &str,
    ) -> Result<Option<String>, Self::Error>;

    /// Whether an agent lives: it exists, and has not ended or has something to read.
    fn is_living(&mut self, id: AgentId) -> Result<bool, Self::Error>;

    /// How many living agents the tree of this root has. Its cost does not grow with what has ended.
    fn count_living_in_tree(&mut self, root: AgentId) -> Result<u32, Self::Error>;

    /// How many living children an agent has. Its cost does not grow with what has ended.
    fn count_living_children(&mut self, parent: AgentId) -> Result<u32, Self::Error>;

    /// How many agents the tree of this root has that were created at this time or later. Its cost does not grow
    /// with what was created before.
    fn count_created(&mut self, root: AgentId, since: Time) -> Result<u32, Self::Error>;

    /// Whether an agent has a child that was not deleted.
    fn has_undeleted_child(&mut self, parent: AgentId) -> Result<bool, Self::Error>;

    /// Whether an agent has posts or wake-ups.
    fn has_posts_or_wakeups(&mut self, agent: AgentId) -> Result<bool, Self::Error>;

    /// How much is in an agent's inbox. It counts this many posts and no more, so its cost is bounded.
    fn inbox_size(&mut self, agent: AgentId, most: u32) -> Result<InboxSize, Self::Error>;

    /// The last agent that was created in the tree of this root, of those that are still there.
    fn last_created(&mut self, root: AgentId) -> Result<Option<AgentId>, Self::Error>;

    /// Whether any agent in the tree of this root is queued, running or waiting, has posts or wake-ups, or has
    /// changed after this time.
    fn is_active_since(&mut self, root: AgentId, since: Time) -> Result<bool, Self::Error>;

    /// What is on record of a budget; none if nothing is.
    fn budget(&mut self, id: &BudgetId) -> Result<Option<Budget>, Self::Error>;

    /// What an agent has reserved in a budget; none if nothing.
    fn reservation(&mut self, id: &BudgetId, agent: AgentId) -> Result<Option<Amount>, Self::Error>;

    /// The agents that cannot exist without this one: its children, and all others of its tree if it is the
    /// root.
    fn dependents(&mut self, agent: AgentId) -> Result<Vec<AgentId>, Self::Error>;
}

/// The state of an existing record, whatever its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordState {
    /// Its status.
    pub status: String,
    /// How many times it was written.
    pub version: u64,
    /// Its owner.
    pub owner: Owner,
}

/// Why a commit is not accepted.
#[derive(Debug)]
pub enum Rejection<E> {
    /// It is refused.
    Refused(Error),
    /// A fact could not be read.
    Failed(E),
}

impl<E> From<Error> for Rejection<E> {
    fn from(refusal: Error) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Rejection<Self>> for Error {
    fn from(rejection: Rejection<Self>) -> Self {
        match rejection {
            Rejection::Refused(error) | Rejection::Failed(error) => error,
        }
    }
}
