//! Answers under way, put together from pieces: whatever breaks off, comes twice or is missing, what is
//! handed on is the beginning of one text.

use std::collections::HashMap;

use entourage_engine::{AgentDelta, Piece};
use entourage_types::{AgentId, Event, EventBody, ItemBody};

/// What has come of each agent's answer under way.
#[derive(Debug, Default)]
pub(crate) struct Pieces(HashMap<AgentId, Heard>);

/// What has come of one answer.
#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    /// The number of its item, and which attempt at it.
    attempt: (u64, u64),
    /// Characters.
    length: u64,
}

impl Pieces {
    /// What a piece adds to what has come before: nothing where that is there already, and a reset first
    /// where it belongs to another attempt, as after a restart of the server.
    pub(crate) fn take(&mut self, delta: &AgentDelta) -> Vec<AgentDelta> {
        let heard = self.0.entry(delta.agent).or_default();
        let attempt = (delta.item_seq, delta.attempt);
        let mut news = Vec::new();
        if attempt < heard.attempt {
            return news;
        }
        if attempt > heard.attempt {
            if heard.length > 0 {
                news.push(AgentDelta { piece: Piece::Reset, offset: 0, ..delta.clone() });
            }
            *heard = Heard { attempt, length: 0 };
        }
        match &delta.piece {
            // One in between is missing: the whole text comes with the item.
            Piece::Text(_) if delta.offset > heard.length => {}
            Piece::Text(text) => {
                let known = usize::try_from(heard.length - delta.offset).unwrap_or(usize::MAX);
                let new: String = text.chars().skip(known).collect();
                if !new.is_empty() {
                    let offset = heard.length;
                    heard.length += new.chars().count() as u64;
                    news.push(AgentDelta { piece: Piece::Text(new), offset, ..delta.clone() });
                }
            }
            Piece::Reset if heard.length == 0 => {}
            Piece::Reset => {
                heard.length = 0;
                news.push(delta.clone());
            }
            Piece::Reasoning(_) | Piece::Call(_) => news.push(delta.clone()),
        }
        news
    }

    /// A turn has come whole, or nobody asks for it any more.
    pub(crate) fn event(&mut self, event: &Event) {
        let is_over = match &event.body {
            EventBody::Item { item: Some(item), .. } => matches!(item.body, ItemBody::Turn(_)),
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

    fn text(of: AgentId, attempt: u64, offset: u64, text: &str) -> AgentDelta {
        let (run, piece) = (RunId::new(), Piece::Text(text.into()));
        AgentDelta { agent: of, run, item_seq: 1, attempt, offset, piece }
    }

    /// What is taken of these, as it is handed on; a reset is a bar.
    fn handed_on(deltas: &[AgentDelta]) -> String {
        let mut pieces = Pieces::default();
        let news = deltas.iter().flat_map(|delta| pieces.take(delta));
        news.map(|delta| if let Piece::Text(text) = delta.piece { text } else { "|".into() }).collect()
    }

    /// A higher attempt begins anew, and pieces of the one before come too late.
    #[test]
    fn an_attempt_that_broke_off_is_not_gone_on_with_by_the_next() {
        let agent = AgentId::new();
        let deltas = [
            text(agent, 1, 0, "one tw"),
            text(agent, 2, 0, "one "),
            text(agent, 1, 6, "o"),
            text(agent, 2, 4, "two"),
        ];
        assert_eq!(handed_on(&deltas), "one tw|one two");
    }

    /// What comes again after a broken connection is not shown twice, and nothing is shown behind a gap.
    #[test]
    fn pieces_that_come_twice_or_behind_a_gap_add_nothing() {
        let agent = AgentId::new();
        let deltas = [text(agent, 1, 0, "größ"), text(agent, 1, 0, "größte"), text(agent, 1, 7, "!")];
        assert_eq!(handed_on(&deltas), "größte");
    }
}
