//! What can go wrong in a store, by what the caller can do about it.

use entourage_types::{AgentId, CommitId, EntityKind, RunId, Step, Wakeup};

/// What can go wrong in a store.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another activation has taken the agent since; stop quietly.
    #[error("agent {agent} is fenced: another activation has taken it")]
    Fenced {
        /// Which agent.
        agent: AgentId,
    },
    /// An agent that a commit expects is not there.
    #[error("there is no agent {agent}")]
    NoAgent {
        /// Which agent.
        agent: AgentId,
    },
    /// An agent that a commit makes is there already, by its id or by its key in the tree.
    #[error("agent {agent} exists already")]
    AgentExists {
        /// The one that is there.
        agent: AgentId,
    },
    /// A record that a commit expects to be new is there already.
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
    /// The row behind which a page was to begin is not there: it was forgotten, is another owner's, or never
    /// was. An empty page would read as the end of the list.
    #[error("there is no row `{after}` behind which the list could go on; begin with its first page")]
    NoRow {
        /// The id given.
        after: String,
    },
    /// The tree has as many agents as it may.
    #[error("the tree of agent {root} has {found} agents; the limit is {limit}")]
    TreeFull {
        /// The top of the tree.
        root: AgentId,
        /// How many it has.
        found: u32,
        /// How many it may have.
        limit: u32,
    },
    /// The agent has as many children as it may.
    #[error("agent {parent} has {found} children; the limit is {limit}")]
    TooManyChildren {
        /// Whose children.
        parent: AgentId,
        /// How many it has.
        found: u32,
        /// How many it may have.
        limit: u32,
    },
    /// Somebody in the tree has something to do, or has had lately.
    #[error("the tree of agent {root} is not at rest")]
    NotAtRest {
        /// The top of the tree.
        root: AgentId,
    },
    /// The disk is full; nothing was written.
    #[error("the disk is full: {0}. Free some space; nothing was lost, work goes on from where it stood")]
    DiskFull(String),
    /// The database cannot be used for the time being, whatever is asked of it; nothing was written.
    #[error(
        "the database cannot be used now: {cause} ({detail}). Nothing was written; work goes on by itself once it can"
    )]
    Unavailable {
        /// What keeps it from being used, and what to do; names no path.
        cause: &'static str,
        /// What the database itself says.
        detail: String,
    },
    /// The connection to the database was lost during a commit, and whether that happened is not known. Whoever
    /// repeats the same commit learns it: it happens once.
    #[error("whether commit {commit} happened is not known: the connection to the database was lost")]
    Unknown {
        /// Which commit.
        commit: CommitId,
    },
    /// Another process has the database open.
    #[error("{path} is in use by another process{holder}. Stop it, or name another --data directory")]
    InUse {
        /// The database.
        path: String,
        /// Who holds it, when known.
        holder: String,
    },
    /// The file is not a database of this program, or of a newer version of it.
    #[error("{path} cannot be used: {why}")]
    Unusable {
        /// The database.
        path: String,
        /// The cause, and what to do.
        why: String,
    },
    /// The file does not read back as a database. Waiting does not help: it must be restored.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// A stored value does not read back; never expected.
    #[error("{0}. Nothing was written; this is a fault of the program, please report it")]
    Corrupt(String),
    /// A commit breaks the rules of [`crate::Write`]; a fault of its author, never expected.
    #[error("{0}. Nothing was written; this is a fault of the program, please report it")]
    RuleViolation(String),
    /// The database failed; the message names the cause.
    #[error("the database failed: {0}")]
    Database(String),
    /// The store was closed while the call was under way.
    #[error("the store is closed")]
    Closed,
}

impl Error {
    /// Whether the store itself is at fault for now, and not the request: waiting helps, and so does a
    /// person who makes room or lets go of the file.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::DiskFull(_) | Self::Unavailable { .. })
    }

    /// A step of a run that is not the writer's own.
    pub(crate) fn foreign_step(step: &Step) -> Self {
        Self::RuleViolation(format!(
            "step {} is of run {}, which is not one of its writer",
            step.key, step.run
        ))
    }

    /// A run that is another agent's.
    pub(crate) fn foreign_run(agent: AgentId, run: RunId) -> Self {
        Self::RuleViolation(format!("run {run} is not one of agent {agent}"))
    }

    /// A wake-up that is only its agent's to serve.
    pub(crate) fn has_its_agent(wakeup: &Wakeup) -> Self {
        Self::RuleViolation(format!("wake-up {} has an agent, {}, to serve it", wakeup.id, wakeup.agent))
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Corrupt(format!("a stored value does not read back: {error}"))
    }
}
