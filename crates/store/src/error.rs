//! What can go wrong in a store, by what the caller can do about it.

use entourage_types::{
    AgentId, Allowance, Amount, BudgetId, CommitId, Dollars, EntityKind, RunId, Step, Wakeup,
};

use crate::moving::Difference;

/// What can go wrong in a store.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another activation has claimed the agent since, or has ended it and it was removed; the caller stops quietly.
    #[error("agent {agent} is fenced: another activation has taken it")]
    Fenced {
        /// Which agent.
        agent: AgentId,
    },
    /// An agent that a commit needs does not exist.
    #[error("there is no agent {agent}")]
    NoAgent {
        /// Which agent.
        agent: AgentId,
    },
    /// An agent that a commit creates exists already, by its id or by its key in the tree.
    #[error("agent {agent} exists already")]
    AgentExists {
        /// The existing agent.
        agent: AgentId,
    },
    /// A record that a commit expects to be new exists already, or one that it writes belongs to another
    /// owner.
    #[error("{} `{id}` exists already", kind.as_str())]
    Exists {
        /// Which noun.
        kind: EntityKind,
        /// Its id.
        id: String,
    },
    /// A record is not in the status that a commit expects.
    #[error("{} `{id}` is {found}, not {expected}", kind.as_str())]
    NotInStatus {
        /// Which noun.
        kind: EntityKind,
        /// Its id.
        id: String,
        /// The status that was expected.
        expected: String,
        /// The status it is in, or `missing`.
        found: String,
    },
    /// A record was written since the author of a commit read it.
    #[error("{} `{id}` has version {found}, not {expected}", kind.as_str())]
    OtherVersion {
        /// Which noun.
        kind: EntityKind,
        /// Its id.
        id: String,
        /// The version that was expected.
        expected: u64,
        /// The version it has; 0 if it does not exist.
        found: u64,
    },
    /// Another record of the same noun, owner and scope has the name of a record that a commit writes.
    #[error("another {}, `{holder}`, has this name already; choose another name", kind.as_str())]
    NameTaken {
        /// Which noun.
        kind: EntityKind,
        /// The id of the record that has it.
        holder: String,
    },
    /// The record to which a new or changed one would belong does not exist, or belongs to another owner.
    #[error("there is no {} `{id}` that a record could belong to", kind.as_str())]
    NoParent {
        /// Which noun.
        kind: EntityKind,
        /// The missing record's id.
        id: String,
    },
    /// The row after which a page begins does not exist: it was removed, belongs to another owner, or never
    /// existed. An empty page would read as the end of the list.
    #[error("cannot continue after `{after}`: there is no such row; request the first page")]
    NoRow {
        /// The id given.
        after: String,
    },
    /// The tree has as many living agents as its limit allows.
    #[error("the tree of agent {root} has {found} living agents; the limit is {limit}")]
    TreeFull {
        /// The top of the tree.
        root: AgentId,
        /// How many it has.
        found: u32,
        /// How many it may have.
        limit: u32,
    },
    /// The tree got as many new agents lately as its limit allows.
    #[error("the tree of agent {root} got {found} new agents lately; the limit is {limit}")]
    TooManyCreated {
        /// The top of the tree.
        root: AgentId,
        /// How many it got.
        found: u32,
        /// How many it may get.
        limit: u32,
    },
    /// The agent has as many living children as its limit allows.
    #[error("agent {parent} has {found} living children; the limit is {limit}")]
    TooManyChildren {
        /// Which agent.
        parent: AgentId,
        /// How many it has.
        found: u32,
        /// How many it may have.
        limit: u32,
    },
    /// The inbox of the agent has as much in it as a commit allows.
    #[error("the inbox of agent {agent} is full")]
    InboxFull {
        /// Which agent.
        agent: AgentId,
    },
    /// The agent was deleted.
    #[error("agent {agent} was deleted")]
    Deleted {
        /// Which agent.
        agent: AgentId,
    },
    /// The agent has a child that was not deleted; or, where the agent is removed, one that is still there.
    #[error("agent {parent} still has a child")]
    HasChildren {
        /// Which agent.
        parent: AgentId,
    },
    /// The agent has not ended, or has something to read or a wake-up.
    #[error("agent {agent} has not ended")]
    NotEnded {
        /// Which agent.
        agent: AgentId,
    },
    /// The agent has ended and has nothing to read, or was deleted: nothing was changed.
    #[error("agent {agent} has ended")]
    HasEnded {
        /// Which agent.
        agent: AgentId,
    },
    /// An agent was created in the tree since the author of a commit read it.
    #[error("the tree of agent {root} has grown")]
    HasGrown {
        /// The top of the tree.
        root: AgentId,
    },
    /// An agent in the tree has something to do, or has changed recently.
    #[error("the tree of agent {root} is not at rest")]
    NotAtRest {
        /// The top of the tree.
        root: AgentId,
    },
    /// A budget has no room for what a model call can use at most.
    #[error("budget {budget} has {left} left, less than the call may take")]
    OverBudget {
        /// Which budget.
        budget: BudgetId,
        /// What is left.
        left: Allowance,
        /// Whether it would have room if the calls under way used nothing.
        may_have_room: bool,
    },
    /// A budget has room for a model call again for which it had none.
    #[error("budget {budget} has room again")]
    HasRoom {
        /// Which budget.
        budget: BudgetId,
    },
    /// A grant would raise the sum of what was granted beyond what is counted.
    #[error("budget {budget} can be granted at most {} and {} tokens more", Dollars(.most.cost), .most.tokens)]
    TooMuchGranted {
        /// Which budget.
        budget: BudgetId,
        /// The most that can still be granted.
        most: Amount,
    },
    /// More would be taken back than was granted.
    #[error("of budget {budget}, at most {} and {} tokens were granted", Dollars(.most.cost), .most.tokens)]
    TooMuchTakenBack {
        /// Which budget.
        budget: BudgetId,
        /// The most that can be taken back.
        most: Amount,
    },
    /// The disk is full; nothing was written.
    #[error("the disk is full: {0}. Free some space; nothing was lost, and work resumes where it stopped")]
    DiskFull(String),
    /// The database cannot be used at present, whatever the request; nothing was written.
    #[error(
        "the database is unavailable: {cause} ({detail}). Nothing was written; work resumes once the \
         database is available"
    )]
    Unavailable {
        /// What keeps it from being used, and what to do; names no path.
        cause: &'static str,
        /// The database's own message.
        detail: String,
    },
    /// The connection to the database was lost during a commit, and whether the commit happened is not known.
    /// A caller that repeats the same commit finds out: it happens once.
    #[error(
        "the connection to the database was lost during commit {commit}; it is not known whether the commit happened"
    )]
    Unknown {
        /// Which commit.
        commit: CommitId,
    },
    /// Another process has the database open.
    #[error("{path} is in use by another process{holder}. Stop it, or name another --data directory")]
    InUse {
        /// The database.
        path: String,
        /// The process that holds it, if known.
        holder: String,
    },
    /// The file is not a database of this program, is of a newer version, or cannot be opened or written.
    #[error("{path} cannot be used: {why}")]
    Unusable {
        /// The database.
        path: String,
        /// The cause, and what to do.
        why: String,
    },
    /// The file is damaged. Waiting does not help: it must be restored.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// A stored value cannot be decoded, or contradicts another; never expected.
    #[error("{0}. Nothing was written; this is a bug in the program, please report it")]
    Corrupt(String),
    /// A commit breaks the rules of [`crate::Write`]; a bug of its author, never expected.
    #[error("{0}. Nothing was written; this is a bug in the program, please report it")]
    RuleViolation(String),
    /// The database failed; the message names the cause.
    #[error("the database failed: {0}")]
    Database(String),
    /// What was written to another database and read back is not what was read here.
    #[error(
        "{0}. Nothing was moved, and the original is as it was; this is a bug in the program, please report it"
    )]
    Differs(Difference),
    /// The connection was lost while a move ended, and whether its rows are there is not known.
    #[error(
        "the connection to {place} was lost while the move ended; it is not known whether the rows are there. Repeat \
         the move: if it is refused because the database has rows, they are there, all of them"
    )]
    MoveUnknown {
        /// The database that the rows were moved to.
        place: String,
    },
    /// The store was closed while the call was under way.
    #[error("the store is closed")]
    Closed,
}

impl Error {
    /// Whether the store cannot work at present, whatever the request: waiting helps, or a person who makes
    /// room or releases the file.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::DiskFull(_) | Self::Unavailable { .. })
    }

    /// The refusal of a step of a run that does not belong to the writer.
    pub(crate) fn foreign_step(step: &Step) -> Self {
        Self::RuleViolation(format!(
            "step {} belongs to run {}, which is not a run of the writer",
            step.key, step.run
        ))
    }

    /// The refusal of a run that belongs to another agent.
    pub(crate) fn foreign_run(agent: AgentId, run: RunId) -> Self {
        Self::RuleViolation(format!("run {run} does not belong to agent {agent}"))
    }

    /// The refusal to drop a wake-up whose agent exists.
    pub(crate) fn not_an_orphan(wakeup: &Wakeup) -> Self {
        Self::RuleViolation(format!("wake-up {} is not an orphan: agent {} exists", wakeup.id, wakeup.agent))
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Corrupt(format!("a stored value cannot be decoded: {error}"))
    }
}
