//! Colours, where a terminal shows them and nobody minds.

use entourage_types::Status;

/// Paints text, or leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Paints on a terminal, unless `NO_COLOR` is set or it is dumb.
    pub(crate) fn on(terminal: bool) -> Self {
        let minds = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { on: terminal && !minds && !dumb }
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }

    /// A word or sign in the colour of a status.
    pub(crate) fn status(self, status: Status, text: &str) -> String {
        match status {
            Status::Succeeded => self.green(text),
            Status::Failed => self.red(text),
            Status::Waiting => self.yellow(text),
            Status::Running | Status::Queued => self.cyan(text),
            Status::Idle | Status::Cancelled => self.dim(text),
        }
    }
}
