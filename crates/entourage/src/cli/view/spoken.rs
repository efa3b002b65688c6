//! A conversation above a line editor: a line for each thing that happens, and the answer row by row.

use entourage_engine::{AgentDelta, Piece};
use entourage_types::{AgentId, Event, EventBody, ItemBody};

use super::Lines;
use crate::cli::{backend::Result, out, progress::Progress, screen, text::rows};

/// What is said, as it is.
pub(crate) struct Spoken {
    root: AgentId,
    /// Whether the root's answer is shown as it comes.
    aloud: bool,
    /// Whether some of the answer under way was shown.
    speaking: bool,
    /// The row of the answer that is not full yet.
    row: String,
    /// The number of the root's item that was shown as it came.
    pub(super) said: Option<u64>,
}

impl Spoken {
    pub(super) fn new(root: AgentId, aloud: bool) -> Self {
        Self { root, aloud, speaking: false, row: String::new(), said: None }
    }

    pub(super) fn event(&mut self, event: &Event, progress: &Progress) -> Result<()> {
        if self.speaking
            && event.agent == self.root
            && let EventBody::Item { item: Some(item), item_seq } = &event.body
            && let ItemBody::Turn(turn) = &item.body
        {
            self.end()?;
            self.said = turn.calls.is_empty().then_some(*item_seq);
        }
        // With it the conversation began, and who asked knows what.
        if !matches!(event.body, EventBody::AgentCreated { parent: None, .. }) {
            Lines.event(event, progress);
        }
        Ok(())
    }

    pub(super) fn delta(&mut self, delta: &AgentDelta) -> Result<()> {
        if !self.aloud || delta.agent != self.root {
            return Ok(());
        }
        match &delta.piece {
            Piece::Text(text) => self.text(text),
            Piece::Reset if self.speaking => {
                self.end()?;
                out::note(out::stderr().dim("the answer broke off and is asked for again"));
                Ok(())
            }
            Piece::Reset | Piece::Reasoning(_) | Piece::Call(_) => Ok(()),
        }
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.speaking = true;
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
        self.speaking = false;
        let row = std::mem::take(&mut self.row);
        if row.trim().is_empty() { Ok(()) } else { out::result(row) }
    }
}
