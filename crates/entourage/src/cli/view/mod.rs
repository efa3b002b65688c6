//! What a person, or a program, sees while agents work.

mod lines;
mod live;
mod spoken;

use std::io::IsTerminal;

use entourage_engine::AgentDelta;
use entourage_types::{AgentId, Event};

use super::{backend::Result, globals::Globals, input, out, paint, progress::Progress, screen, text::text};
use lines::Lines;
use live::Live;
use spoken::Spoken;

/// What is shown while agents work.
pub(crate) enum View {
    /// A tree that is redrawn in place, on a terminal that can.
    Live(Live),
    /// A conversation, above a line editor.
    Spoken(Spoken),
    /// One line on stderr for each thing that happens.
    Lines(Lines),
    /// Each event on stdout, for a program.
    Json,
    /// Nothing.
    Silent,
}

impl View {
    /// What fits where the command was started. With `aloud`, the root's answer is written on
    /// stdout as it comes; `edited` says that a line editor has the bottom of the terminal.
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

    /// A fact, with where it leaves the tree.
    pub(crate) fn event(&mut self, event: &Event, progress: &Progress) -> Result<()> {
        match self {
            Self::Live(live) => live.event(event, progress),
            Self::Spoken(spoken) => spoken.event(event, progress),
            Self::Lines(lines) => {
                lines.event(event, progress);
                Ok(())
            }
            Self::Json => out::json(&out::shown(event)?),
            Self::Silent => Ok(()),
        }
    }

    /// A piece of an answer under way.
    pub(crate) fn delta(&mut self, delta: &AgentDelta) -> Result<()> {
        match self {
            Self::Live(live) => live.delta(delta),
            Self::Spoken(spoken) => spoken.delta(delta),
            Self::Lines(_) | Self::Json | Self::Silent => Ok(()),
        }
    }

    /// Time has passed. Nothing is drawn over what another program writes that has the terminal now.
    pub(crate) fn draw(&self, progress: &Progress) {
        if let Self::Live(live) = self
            && !input::is_in_background()
        {
            live.draw(progress);
        }
    }

    /// Whether what is shown stands above what is being typed.
    pub(crate) fn is_above(&self) -> bool {
        matches!(self, Self::Spoken(_))
    }

    /// What somebody else said to the root.
    pub(crate) fn heard(&self, text: &str) {
        let paint = out::stderr();
        match self {
            Self::Json | Self::Silent => {}
            Self::Live(_) | Self::Spoken(_) | Self::Lines(_) => {
                out::note(text![paint.cyan(">"), " ", text, paint.dim("  (said elsewhere)")]);
            }
        }
    }

    /// A line was typed that means nothing: the terminal has shown its end.
    pub(crate) fn entered(&self) {
        if let Self::Live(_) = self {
            screen::entered();
        }
    }

    /// Makes room for something else.
    pub(crate) fn clear(&self) {
        if let Self::Live(live) = self {
            live.clear();
        }
    }

    /// The number of the root's item that stands on stdout already, if one does.
    pub(crate) fn said(&self) -> Option<u64> {
        match self {
            Self::Live(live) => live.said,
            Self::Spoken(spoken) => spoken.said,
            Self::Lines(_) | Self::Json | Self::Silent => None,
        }
    }
}
