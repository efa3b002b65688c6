//! How a command ends, and how it reports an error: one line, with its cause and the next step.

use std::process::ExitCode;

use super::{out, text::text};

/// How a command ended, as other programs read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// The command tried and failed.
    Failed = 1,
    /// The arguments or settings must change first.
    Usage = 2,
    /// A question is open and no user is present to answer.
    NeedsAnswer = 3,
    /// A user stopped it.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// What went wrong.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    /// Each line is a message of its own; empty if nothing is to be shown.
    text: String,
    met: FailureCause,
}

/// The cause of a failure that a command may recover from.
#[derive(Debug)]
enum FailureCause {
    /// No cause to recover from.
    Other,
    /// An engine that is gone, and its name: another may start. It may have received the last request.
    EngineGone { who: String, heard: bool },
    /// Something that does not exist, or not any more.
    NotFound,
    /// A question that is not open any more.
    NotOpen,
    /// A document that somebody changed since it was read.
    Stale,
    /// A cursor before or behind the events that the database has.
    CursorGone,
}

impl Failure {
    /// Something was tried and failed.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self::new(Exit::Failed, text.into())
    }

    /// The arguments or settings must change first.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(Exit::Usage, text.into())
    }

    /// The reader of our output has stopped reading: that is no failure of the command.
    pub(crate) fn unread() -> Self {
        Self::new(Exit::Done, String::new())
    }

    /// The connected engine is gone: its name, and what to do next.
    pub(crate) fn gone(who: String, next: &str) -> Self {
        let text = format!("{who}. {next}");
        Self { met: FailureCause::EngineGone { who, heard: false }, ..Self::failed(text) }
    }

    /// Marks that the engine may have received and executed the request, and only the answer was lost.
    pub(crate) fn heard(mut self) -> Self {
        if let FailureCause::EngineGone { heard, .. } = &mut self.met {
            *heard = true;
        }
        self
    }

    /// Adds a hint for a request that must not be repeated: if the engine may have executed it, the command
    /// that shows whether it did.
    pub(crate) fn look_first(mut self, look: &str) -> Self {
        if let FailureCause::EngineGone { who, heard: true } = &self.met {
            self.text = format!(
                "{who}. It may have received what was sent: look with `{look}` before you send it again"
            );
        }
        self
    }

    /// Something was asked for that does not exist, or not any more.
    pub(crate) fn not_found(text: impl Into<String>) -> Self {
        Self { met: FailureCause::NotFound, ..Self::usage(text) }
    }

    /// A question was answered that is not open any more.
    pub(crate) fn not_open(text: impl Into<String>) -> Self {
        Self { met: FailureCause::NotOpen, ..Self::usage(text) }
    }

    /// The client asked for events after a cursor that the database does not have: no longer, or not yet.
    pub(crate) fn cursor_gone(text: impl Into<String>) -> Self {
        Self { met: FailureCause::CursorGone, ..Self::usage(text) }
    }

    /// A document was changed by somebody else since it was read.
    pub(crate) fn stale(text: impl Into<String>) -> Self {
        Self { met: FailureCause::Stale, ..Self::failed(text) }
    }

    fn new(exit: Exit, text: String) -> Self {
        Self { exit, text, met: FailureCause::Other }
    }

    /// Reports it on stderr.
    pub(crate) fn tell(self) -> Exit {
        for line in self.text.lines().filter(|line| !line.trim().is_empty()) {
            out::note(text![out::stderr().red("error:"), " ", ended(line)]);
        }
        self.exit
    }

    /// Adds the next step.
    pub(crate) fn then(self, next: &str) -> Self {
        Self { text: format!("{}. {next}", self.text.trim_end_matches('.')), ..self }
    }

    /// Whether the arguments or settings must change first.
    pub(crate) fn is_usage(&self) -> bool {
        self.exit == Exit::Usage
    }

    /// The name of the engine that is gone, if that is the failure: another may start.
    pub(crate) fn who_is_gone(&self) -> Option<&str> {
        match &self.met {
            FailureCause::EngineGone { who, .. } => Some(who),
            _ => None,
        }
    }

    /// Whether the engine may have executed the request all the same.
    pub(crate) fn may_be_done(&self) -> bool {
        matches!(self.met, FailureCause::EngineGone { heard: true, .. })
    }

    /// Whether what was asked for does not exist, or not any more.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self.met, FailureCause::NotFound)
    }

    /// Whether a question was answered that is not open any more.
    pub(crate) fn is_not_open(&self) -> bool {
        matches!(self.met, FailureCause::NotOpen)
    }

    /// Whether a document was changed by somebody else since it was read.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(self.met, FailureCause::Stale)
    }

    /// Whether the client asked for events after a cursor that the database does not have.
    pub(crate) fn is_cursor_gone(&self) -> bool {
        matches!(self.met, FailureCause::CursorGone)
    }

    /// The text of the failure, for output other than a terminal.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Ends a sentence with a full stop.
fn ended(line: &str) -> String {
    let line = line.trim_end();
    let closed = line.ends_with(['.', '!', '?', '`', ':', ')']);
    if closed { line.to_owned() } else { format!("{line}.") }
}

impl From<entourage::Error> for Failure {
    fn from(error: entourage::Error) -> Self {
        use entourage::Error;
        match error {
            Error::Engine(error) => error.into(),
            Error::Store(error) => error.into(),
            Error::Kinds(mistakes) => Self::usage(format!(
                "{mistakes}\nNothing was started. `entourage kinds check` checks the files again"
            )),
            Error::DataDirectory { .. } => Self::failed(error.to_string()),
            error => Self::usage(error.to_string()),
        }
    }
}

impl From<entourage_engine::Error> for Failure {
    fn from(error: entourage_engine::Error) -> Self {
        use entourage_engine::Error;
        let text = error.to_string();
        match error {
            Error::Store(error) => error.into(),
            Error::NotFound { noun: "agent", .. } => {
                Self::not_found(format!("{text}. `entourage agents` lists them"))
            }
            Error::NotFound { noun: "question", .. } => {
                Self::not_found(format!("{text}. `entourage tree` shows the open ones"))
            }
            Error::NotFound { noun: "grant", .. } => {
                Self::not_found(format!("{text}. `entourage grants` lists those in force"))
            }
            Error::NotFound { noun: "job", .. } => {
                Self::not_found(format!("{text}. `entourage jobs` lists them"))
            }
            Error::NotFound { noun: "receiver", .. } => {
                Self::not_found(format!("{text}. `entourage webhooks` lists them"))
            }
            Error::NotFound { noun: "run", .. } => {
                Self::not_found(format!("{text}. `entourage runs` lists them"))
            }
            Error::NotFound { noun: "project", .. } => {
                Self::not_found(format!("{text}. `entourage projects` lists them"))
            }
            Error::NotFound { noun: "document", .. } => {
                Self::not_found(format!("{text}. `entourage documents` lists them"))
            }
            Error::NotFound { noun: "goal", .. } => {
                Self::not_found(format!("{text}. `entourage goals` lists them"))
            }
            Error::NotFound { noun: "schedule", .. } => {
                Self::not_found(format!("{text}. `entourage schedules` lists them"))
            }
            Error::StaleVersion { .. } => Self::stale(text),
            Error::NotFound { .. } | Error::NoRequest { .. } => Self::not_found(text),
            Error::Kinds(mistakes) => {
                Self::usage(format!("{mistakes}. `entourage kinds check` checks the files again"))
            }
            Error::UnknownKind { .. } => {
                Self::usage(format!("{text}. `entourage kinds list` describes them"))
            }
            Error::UnknownAgency { .. } => {
                Self::usage(format!("{text}. `entourage agency list` describes them"))
            }
            Error::Gone(_) => Self::usage(format!("{text}. Start a new one with `entourage run`")),
            Error::CursorGone { .. } | Error::CursorAhead { .. } | Error::PastGone { .. } => {
                Self::cursor_gone(text)
            }
            Error::NotOpen { .. } => {
                Self::not_open(format!("{text}. A question takes one answer, the first"))
            }
            _ => Self::usage(text),
        }
    }
}

impl From<entourage_store::Error> for Failure {
    fn from(error: entourage_store::Error) -> Self {
        match error {
            entourage_store::Error::InUse { path, holder } => Self::failed(format!(
                "another entourage{holder} works on {path}. Wait for it or stop it; to use several commands at once, \
                 leave `entourage serve` running: they talk to it"
            )),
            error => Self::failed(error.to_string()),
        }
    }
}

impl From<entourage_server::Error> for Failure {
    fn from(error: entourage_server::Error) -> Self {
        match error {
            entourage_server::Error::Serve(_) => Self::failed(error.to_string()),
            error => Self::usage(error.to_string()),
        }
    }
}

impl From<entourage_types::ParseIdError> for Failure {
    fn from(error: entourage_types::ParseIdError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::failed(format!("a value does not fit into JSON: {error}"))
    }
}
