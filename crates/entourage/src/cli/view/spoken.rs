//! Shows a conversation above a line editor: a line for each event, and the answer row by row.

use entourage_api::{Delta, Event, EventBody, ItemBody, Piece};
use entourage_types::{Action, AgentId, StopReason};

use super::lines::line;
use crate::cli::{backend::Result, out, progress::Progress, screen, text::rows};

/// Shown when an answer starts again.
pub(super) const AGAIN: &str = "the answer broke off; asking the model again";

/// The output of a conversation.
pub(crate) struct Spoken {
    root: AgentId,
    /// Whether the root's answer is shown as it is streamed.
    aloud: bool,
    /// The part of the current answer that was shown.
    spoken: String,
    /// The row of the answer that is not full yet.
    row: String,
    /// Whether the last attempt broke off, and none has started since.
    broken: bool,
    /// The number of the root's item that was shown as it was streamed.
    pub(super) said: Option<u64>,
}

impl Spoken {
    pub(super) fn new(root: AgentId, aloud: bool) -> Self {
        Self { root, aloud, spoken: String::new(), row: String::new(), broken: false, said: None }
    }

    pub(super) fn event(&mut self, event: &Event, progress: &Progress) -> Result<()> {
        match &event.body {
            EventBody::Item { item: Some(item), item_seq } if event.agent == self.root => {
                if let ItemBody::Turn { text, calls, .. } = &item.body {
                    self.turn(text, calls.is_empty().then_some(*item_seq))?;
                }
            }
            // The run has ended: the model is not asked again.
            EventBody::Run { status, .. } if event.agent == self.root && status.is_terminal() => {
                self.broken = false;
                self.end()?;
            }
            _ => {}
        }
        let is_known = match &event.body {
            // The conversation starts with this event, and the user knows what they asked.
            EventBody::AgentCreated { parent: None, .. } => true,
            // `chat` reports it once the run has ended.
            EventBody::AgentStatus { stop_reason: Some(StopReason::Cancelled), .. } => {
                event.agent == self.root
            }
            // The text is shown when the agent reads it.
            EventBody::Intervention { intervention } => {
                event.agent == self.root && intervention.action == Action::Steer
            }
            _ => false,
        };
        if !is_known {
            line(event, progress);
        }
        Ok(())
    }

    /// Handles a complete turn: writes the part of its text that was not streamed. A turn without calls is an
    /// answer, and has a number.
    fn turn(&mut self, text: &str, answer: Option<u64>) -> Result<()> {
        self.begins();
        let spoken = std::mem::take(&mut self.spoken);
        let rest = match text.strip_prefix(&spoken) {
            _ if spoken.is_empty() => None,
            None if text.trim() == spoken.trim() => Some(""),
            rest => rest,
        };
        rest.map_or(Ok(()), |rest| self.text(rest))?;
        self.said = answer.filter(|_| rest.is_some());
        self.end()
    }

    pub(super) fn delta(&mut self, delta: &Delta) -> Result<()> {
        if !self.aloud || delta.agent != self.root {
            return Ok(());
        }
        match &delta.piece {
            Piece::Text(text) => {
                self.begins();
                self.text(text)
            }
            Piece::Reset(_) if !self.spoken.is_empty() => {
                self.row.push('…');
                self.broken = true;
                self.end()
            }
            Piece::Reset(_) | Piece::Reasoning(_) | Piece::Call(_) => Ok(()),
        }
    }

    /// Notes that another attempt begins.
    fn begins(&mut self) {
        if std::mem::take(&mut self.broken) {
            out::note(out::stderr().dim(AGAIN));
        }
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.spoken.push_str(text);
        self.row.push_str(text);
        while let Some((line, rest)) = self.row.split_once('\n') {
            out::result(line.trim_end_matches('\r'))?;
            self.row = rest.to_owned();
        }
        let mut full = rows(&self.row, screen::columns().saturating_sub(1));
        if full.len() > 1 {
            self.row = full.pop().unwrap_or_default();
            full.into_iter().try_for_each(out::result)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.spoken.clear();
        let row = std::mem::take(&mut self.row);
        if row.trim().is_empty() { Ok(()) } else { out::result(row) }
    }
}
