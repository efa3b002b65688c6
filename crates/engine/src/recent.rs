//! The transcripts of agents that worked lately, so that a next turn reads only what is new.
//!
//! Items never change, so what is held here is never wrong; it may be short, and the claim brings
//! the rest. Losing it costs time and nothing else.

use std::sync::{Mutex, PoisonError};

use entourage_types::{Agent, AgentId, Item, ItemBody};
use lru::LruCache;

/// How much is held, in bytes of text, roughly.
const ROOM: usize = 16 << 20;
/// What an item weighs beside its text.
const ITEM: usize = 256;

/// The sessions held, the longest unused going first.
pub(crate) struct Recent {
    held: Mutex<(LruCache<AgentId, Vec<Item>>, usize)>,
    room: usize,
}

impl Default for Recent {
    fn default() -> Self {
        Self::new(ROOM)
    }
}

impl Recent {
    fn new(room: usize) -> Self {
        Self { held: Mutex::new((LruCache::unbounded(), 0)), room }
    }

    /// What is held of an agent's transcript, its last items; whoever takes it holds it now.
    pub(crate) fn take(&self, agent: AgentId) -> Vec<Item> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let items = held.0.pop(&agent).unwrap_or_default();
        held.1 -= weight(&items);
        items
    }

    /// Holds an agent's session, all of which has been committed.
    pub(crate) fn put(&self, agent: AgentId, items: Vec<Item>) {
        let weight_of_these = weight(&items);
        if items.is_empty() || weight_of_these > self.room {
            return;
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.1 += weight_of_these;
        if let Some(before) = held.0.put(agent, items) {
            held.1 -= weight(&before);
        }
        while held.1 > self.room
            && let Some((_, oldest)) = held.0.pop_lru()
        {
            held.1 -= weight(&oldest);
        }
    }
}

/// The session of an agent as it stands: what was held of it, and what was read behind that.
pub(crate) fn joined(agent: &Agent, mut held: Vec<Item>, read: Vec<Item>) -> Vec<Item> {
    // Held items of an earlier session are at the beginning, all of them or none.
    if held.first().is_some_and(|item| item.session != agent.session) {
        held.retain(|item| item.session == agent.session);
    }
    held.extend(read);
    held
}

fn weight(items: &[Item]) -> usize {
    items.iter().map(|item| ITEM + text(&item.body)).sum()
}

fn text(body: &ItemBody) -> usize {
    match body {
        ItemBody::Message(message) => message.text.len(),
        ItemBody::Turn(turn) => turn.text.len() + turn.calls.len() * ITEM,
        ItemBody::Output(output) => output.text.len(),
        ItemBody::Decision(_) => ITEM,
        ItemBody::Notice(notice) => notice.text.len(),
        ItemBody::Digest(digest) => digest.text.len(),
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::{Author, Message, Owner, RunId, Time};

    use super::*;

    fn items(agent: AgentId, session: u32, from: u64, count: u64) -> Vec<Item> {
        let (run, at) = (RunId::new(), Time::from_micros(0));
        let text = "x".repeat(100);
        let body = ItemBody::Message(Message::new(Author::User, text, None));
        (from..from + count).map(|seq| Item { agent, seq, run, session, at, body: body.clone() }).collect()
    }

    #[test]
    fn the_longest_unused_goes_when_the_room_is_full() {
        let [one, two, three] = [AgentId::new(), AgentId::new(), AgentId::new()];
        let recent = Recent::new(weight(&items(one, 0, 0, 10)) * 2);
        recent.put(one, items(one, 0, 0, 10));
        recent.put(two, items(two, 0, 0, 10));
        let held = recent.take(one);
        assert_eq!(held.len(), 10);
        recent.put(one, held);
        recent.put(three, items(three, 0, 0, 10));
        assert_eq!(recent.take(two), [], "it was unused for longest");
        assert_eq!((recent.take(one).len(), recent.take(three).len()), (10, 10));
        assert_eq!(recent.held.lock().unwrap().1, 0);
        recent.put(one, items(one, 0, 0, 100));
        assert_eq!(recent.take(one), [], "what does not fit is not held");
    }

    #[test]
    fn what_is_held_and_what_is_read_make_the_session() {
        let agent = Agent::root(Owner::local(), "helper", "", Time::from_micros(0));
        let all = items(agent.id, agent.session, 0, 5);
        assert_eq!(joined(&agent, all[..3].to_vec(), all[3..].to_vec()), all);
        let agent = Agent { session: agent.session + 1, ..agent };
        let later = items(agent.id, agent.session, 5, 2);
        assert_eq!(joined(&agent, all, later.clone()), later);
    }
}
