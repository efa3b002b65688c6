//! Assembles streamed answers from pieces: although pieces may break off, repeat or go missing, the pieces
//! passed on always form the beginning of one text.

use std::collections::HashMap;

use entourage_api::{Delta, Event, EventBody, ItemBody, Piece};
use entourage_types::AgentId;

/// The streamed part of each agent's current answer.
#[derive(Debug, Default)]
pub(crate) struct Pieces(HashMap<AgentId, StreamedAnswer>);

/// The streamed part of one answer.
#[derive(Debug, Clone, Copy, Default)]
struct StreamedAnswer {
    /// The number of its item, and of the attempt at it.
    attempt: (u64, u64),
    /// Its length in characters.
    length: u64,
}

impl Pieces {
    /// Returns what a piece adds to the previous ones: nothing if it is a repetition; a reset first if it
    /// belongs to another attempt, such as after a restart of the server.
    pub(crate) fn take(&mut self, delta: &Delta) -> Vec<Delta> {
        let heard = self.0.entry(delta.agent).or_default();
        let attempt = (delta.item_seq, delta.attempt);
        let mut news = Vec::new();
        if attempt < heard.attempt {
            return news;
        }
        if attempt > heard.attempt {
            if heard.length > 0 {
                news.push(Delta { piece: Piece::Reset(true), offset: 0, ..delta.clone() });
            }
            *heard = StreamedAnswer { attempt, length: 0 };
        }
        match &delta.piece {
            // A piece in between is missing: the item brings the whole text.
            Piece::Text(_) if delta.offset > heard.length => {}
            Piece::Text(text) => {
                let known = usize::try_from(heard.length - delta.offset).unwrap_or(usize::MAX);
                let new: String = text.chars().skip(known).collect();
                if !new.is_empty() {
                    let offset = heard.length;
                    heard.length += new.chars().count() as u64;
                    news.push(Delta { piece: Piece::Text(new), offset, ..delta.clone() });
                }
            }
            Piece::Reset(_) if heard.length == 0 => {}
            Piece::Reset(_) => {
                heard.length = 0;
                news.push(delta.clone());
            }
            Piece::Reasoning(_) | Piece::Call(_) => news.push(delta.clone()),
        }
        news
    }

    /// Forgets the answer when its turn is complete or its run has ended.
    pub(crate) fn event(&mut self, event: &Event) {
        let is_over = match &event.body {
            EventBody::Item { item: Some(item), .. } => matches!(item.body, ItemBody::Turn { .. }),
            EventBody::Run { status, .. } => status.is_terminal(),
            _ => false,
        };
        if is_over {
            self.0.remove(&event.agent);
        }
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::RunId;

    use super::*;

    fn text(of: AgentId, attempt: u64, offset: u64, text: &str) -> Delta {
        let (run, piece) = (RunId::new(), Piece::Text(text.into()));
        Delta { agent: of, run, item_seq: 1, attempt, offset, piece }
    }

    /// The pieces that are passed on of these; a reset is a bar.
    fn text_passed_on(deltas: &[Delta]) -> String {
        let mut pieces = Pieces::default();
        let news = deltas.iter().flat_map(|delta| pieces.take(delta));
        news.map(|delta| if let Piece::Text(text) = delta.piece { text } else { "|".into() }).collect()
    }

    /// A higher attempt starts again, and later pieces of the previous attempt are ignored.
    #[test]
    fn a_new_attempt_restarts_the_answer_and_late_old_pieces_are_ignored() {
        let agent = AgentId::new();
        let deltas = [
            text(agent, 1, 0, "one tw"),
            text(agent, 2, 0, "one "),
            text(agent, 1, 6, "o"),
            text(agent, 2, 4, "two"),
        ];
        assert_eq!(text_passed_on(&deltas), "one tw|one two");
    }

    /// Pieces repeated after a broken connection are not shown twice, and nothing is shown after a gap.
    #[test]
    fn repeated_pieces_and_pieces_after_a_gap_add_no_text() {
        let agent = AgentId::new();
        let deltas = [text(agent, 1, 0, "größ"), text(agent, 1, 0, "größte"), text(agent, 1, 7, "!")];
        assert_eq!(text_passed_on(&deltas), "größte");
    }
}
