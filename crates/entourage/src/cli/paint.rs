//! Colours output, where the terminal shows colours and the user has not switched them off.

use entourage_types::ShownStatus;

use super::text::Text;

/// Whether the terminal understands no escape sequences.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Colours text, or leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Colours text on a terminal, unless `NO_COLOR` is set or the terminal is dumb.
    pub(crate) fn on(terminal: bool) -> Self {
        let minds = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { on: terminal && !minds && !is_dumb() }
    }

    #[cfg(test)]
    pub(crate) fn always() -> Self {
        Self { on: true }
    }

    fn with(self, style: u8, text: impl Into<Text>) -> Text {
        let text = text.into();
        if self.on { text.painted(style) } else { text }
    }

    pub(crate) fn bold(self, text: impl Into<Text>) -> Text {
        self.with(1, text)
    }

    pub(crate) fn dim(self, text: impl Into<Text>) -> Text {
        self.with(2, text)
    }

    pub(crate) fn red(self, text: impl Into<Text>) -> Text {
        self.with(31, text)
    }

    pub(crate) fn green(self, text: impl Into<Text>) -> Text {
        self.with(32, text)
    }

    pub(crate) fn yellow(self, text: impl Into<Text>) -> Text {
        self.with(33, text)
    }

    pub(crate) fn cyan(self, text: impl Into<Text>) -> Text {
        self.with(36, text)
    }

    /// A word or sign in the colour of a status.
    pub(crate) fn status(self, status: ShownStatus, text: impl Into<Text>) -> Text {
        match status {
            ShownStatus::Succeeded => self.green(text),
            ShownStatus::Failed => self.red(text),
            ShownStatus::Waiting => self.yellow(text),
            ShownStatus::Running | ShownStatus::Queued => self.cyan(text),
            ShownStatus::Idle | ShownStatus::Stopped | ShownStatus::Cancelled => self.dim(text),
        }
    }
}
