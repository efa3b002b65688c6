//! What can go wrong before the engine stands.

use std::path::PathBuf;

/// What can go wrong before the engine stands. Each says its cause and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is wrong, or a file of settings cannot be read.
    #[error("{place}: {why}")]
    Settings {
        /// Where: a file with its line, or the environment.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no telling where data shall be kept.
    #[error("there is no directory for data: neither HOME nor XDG_DATA_HOME is set. Name one with --data")]
    NoDataDirectory,
    /// The data directory cannot be made or written.
    #[error("the data directory {} cannot be written: {cause}. Make it writable, or name another with --data", path.display())]
    DataDirectory {
        /// Which.
        path: PathBuf,
        /// The system's words.
        cause: std::io::Error,
    },
    /// The directory that agents shall read is not there.
    #[error("{0}")]
    Files(String),
    /// Files of kinds have mistakes, one a line.
    #[error("{0}")]
    Kinds(String),
    /// An agent, or an agency, that cannot be; the text says what to change.
    #[error("{0}")]
    Agency(String),
    /// An agent is called that belongs to no open agency, and so has no threads.
    #[error(
        "{agent} has no threads: it belongs to no open agency. Open one with it, `Agency::new([&agent], [])`, \
         and keep that as long as you call it"
    )]
    NoThreads {
        /// Which agent.
        agent: String,
    },
    /// The agency was closed before the answer was there.
    #[error(
        "the agency was closed before the answer was there; nothing is lost: open one on the same database, and \
         `resume_response` gives the answer"
    )]
    Closed,
    /// A run failed whose text alone was wanted.
    #[error("the run ended with {code}: {text}{}", in_parentheses(.cause.as_deref()))]
    Run {
        /// A stable word for why.
        code: entourage_types::StopReason,
        /// A sentence for people.
        text: String,
        /// The cause in the words of whoever failed, such as a provider, where the sentence does not say it.
        cause: Option<String>,
    },
    /// The database cannot be opened.
    #[error(transparent)]
    Store(#[from] entourage_store::Error),
    /// The webhooks that are set cannot work.
    #[cfg(feature = "server")]
    #[error(transparent)]
    Webhooks(#[from] entourage_server::Error),
    /// The model that is set cannot work.
    #[error(transparent)]
    Model(#[from] entourage_llm::Error),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] entourage_engine::Error),
}

fn in_parentheses(cause: Option<&str>) -> String {
    cause.map(|cause| format!(" ({cause})")).unwrap_or_default()
}
