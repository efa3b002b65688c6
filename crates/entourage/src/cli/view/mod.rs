//! The output for a user, or a program, while agents work.

mod lines;
mod live;
mod spoken;

use std::io::IsTerminal;

use entourage_api::{Delta, Event};
use entourage_types::AgentId;

use super::{backend::Result, globals::Globals, input, out, paint, progress::Progress, screen, text::text};
use lines::Lines;
use live::Live;
use spoken::Spoken;

/// The form of output while agents work.
pub(crate) enum View {
    /// A tree that is redrawn in place, on a terminal that can.
    Live(Live),
    /// A conversation, above a line editor.
    Spoken(Spoken),
    /// One line on stderr for each event.
    Lines(Lines),
    /// Each event on stdout, for a program.
    Json,
    /// Nothing.
    Silent,
}

impl View {
    /// Chooses the form that fits the terminal and the options. With `aloud`, the root's answer is written to
    /// stdout as it is streamed; `edited` says that a line editor holds the bottom of the terminal.
    pub(crate) fn new(globals: &Globals, root: AgentId, aloud: bool, edited: bool) -> Self {
        if globals.json {
            Self::Json
        } else if globals.quiet {
            Self::Silent
        } else if edited {
            Self::Spoken(Spoken::new(root, aloud))
        } else if std::io::stderr().is_terminal() && !paint::is_dumb() && !input::is_in_background() {
            Self::Live(Live::new(root, aloud && std::io::stdout().is_terminal()))
        } else {
            Self::Lines(Lines::default())
        }
    }

    /// Shows an event; `progress` is the state of the tree after it.
    pub(crate) fn event(&mut self, event: &Event, progress: &Progress) -> Result<()> {
        match self {
            Self::Live(live) => live.event(event, progress),
            Self::Spoken(spoken) => spoken.event(event, progress),
            Self::Lines(lines) => {
                lines.event(event, progress);
                Ok(())
            }
            Self::Json => out::json(event),
            Self::Silent => Ok(()),
        }
    }

    /// Shows a piece of a streamed answer.
    pub(crate) fn delta(&mut self, delta: &Delta) -> Result<()> {
        match self {
            Self::Live(live) => live.delta(delta),
            Self::Spoken(spoken) => spoken.delta(delta),
            Self::Lines(_) | Self::Json | Self::Silent => Ok(()),
        }
    }

    /// Redraws as time passes. Nothing is drawn over the output of another program that holds the terminal
    /// now.
    pub(crate) fn draw(&self, progress: &Progress) {
        if let Self::Live(live) = self
            && !input::is_in_background()
        {
            live.draw(progress);
        }
    }

    /// Whether output appears above the line that is being typed.
    pub(crate) fn is_above(&self) -> bool {
        matches!(self, Self::Spoken(_))
    }

    /// Shows a message from another sender to the root.
    pub(crate) fn heard(&self, text: &str) {
        let paint = out::stderr();
        match self {
            Self::Json | Self::Silent => {}
            Self::Live(_) | Self::Spoken(_) | Self::Lines(_) => {
                out::note(text![paint.cyan(">"), " ", text, paint.dim("  (sent elsewhere)")]);
            }
        }
    }

    /// Records that the user typed a line without meaning: the terminal has shown its end.
    pub(crate) fn entered(&self) {
        if let Self::Live(_) = self {
            screen::entered();
        }
    }

    /// Makes room for other output.
    pub(crate) fn clear(&self) {
        if let Self::Live(live) = self {
            live.clear();
        }
    }

    /// The number of the root's item that is on stdout already, if one is.
    pub(crate) fn said(&self) -> Option<u64> {
        match self {
            Self::Live(live) => live.said,
            Self::Spoken(spoken) => spoken.said,
            Self::Lines(_) | Self::Json | Self::Silent => None,
        }
    }
}
