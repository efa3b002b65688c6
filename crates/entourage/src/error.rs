//! The errors of this crate.

use std::path::PathBuf;

/// An error of this crate. Each says its cause and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is wrong, or a settings file cannot be read.
    #[error("{place}: {why}")]
    Settings {
        /// Where: a file with its line, or the environment.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// This process cannot be one of several that share a database.
    #[error(transparent)]
    Cluster(#[from] entourage_mesh::Error),
    /// Restate cannot deliver wake-ups.
    #[cfg(feature = "restate")]
    #[error(transparent)]
    Restate(#[from] entourage_restate::Error),
    /// No data directory is known.
    #[error("there is no directory for data: neither HOME nor XDG_DATA_HOME is set. Name one with --data")]
    NoDataDirectory,
    /// The data directory cannot be created or written.
    #[error("the data directory {} cannot be written: {cause}. Make it writable, or name another with --data", path.display())]
    DataDirectory {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The directory for agents to read does not exist.
    #[error("{0}")]
    Files(String),
    /// Files of kinds have mistakes, one a line.
    #[error("{0}")]
    Kinds(String),
    /// An agent, or an agency, is invalid; the text says what to change.
    #[error("{0}")]
    Agency(String),
    /// A called agent belongs to no open agency, and so has no threads.
    #[error(
        "{agent} has no threads: it belongs to no open agency. Open one with it, `Agency::new([&agent], [])`, \
         and keep that as long as you call it"
    )]
    NoThreads {
        /// Which agent.
        agent: String,
    },
    /// The agency, or the explorer, was closed before the answer was complete.
    #[error(
        "it was closed before the answer was complete; nothing is lost: open it again on the same database, and \
         `resume_response` of an agency, or `follow` of an explorer, gives the answer"
    )]
    Closed,
    /// An explorer cannot be opened; the text says what to change.
    #[error("{0}")]
    Explorer(String),
    /// A subscriber cannot be told of events.
    #[error("the subscriber `{name}` cannot be used: {why}")]
    Subscriber {
        /// Its name.
        name: String,
        /// What is wrong with it, and what to change.
        why: String,
    },
    /// The agent of an exploration failed.
    #[error("{agent} failed: {error}")]
    Exploration {
        /// The id by which the agent is known.
        agent: String,
        /// A sentence for people.
        error: String,
    },
    /// The agent of an exploration was deleted before it had a result.
    #[error("{agent} was deleted, so it has no result")]
    Deleted {
        /// The id by which the agent is known.
        agent: String,
    },
    /// The run of a request for text alone failed.
    #[error("the run ended with {code}: {text}{}", in_parentheses(.cause.as_deref()))]
    Run {
        /// A stable code for the reason.
        code: entourage_types::StopReason,
        /// A sentence for people.
        text: String,
        /// The error message of the failed part, such as a provider, if `text` does not contain it.
        cause: Option<String>,
    },
    /// The database cannot be opened.
    #[error(transparent)]
    Store(#[from] entourage_store::Error),
    /// The configured webhooks cannot work.
    #[cfg(feature = "server")]
    #[error(transparent)]
    Webhooks(#[from] entourage_server::Error),
    /// The configured model cannot work.
    #[error(transparent)]
    Model(#[from] entourage_llm::Error),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] entourage_engine::Error),
}

fn in_parentheses(cause: Option<&str>) -> String {
    cause.map(|cause| format!(" ({cause})")).unwrap_or_default()
}
