//! What agents' transcripts have shown so far, for the guard against addresses that only an agent chose
//! (`run/guards/taint.rs`). Losing it costs time and nothing else.

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

use entourage_types::{Agent, AgentId, CallId, Time};
use lru::LruCache;

/// How many agents the cache holds.
const AGENTS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);
/// How many bytes of given addresses and of calls the cache holds.
const BYTES: usize = 16 << 20;

/// Caches what agents' transcripts have shown so far: whether they read private data, and which addresses
/// they were given.
pub(crate) struct TaintCache(Mutex<Scanned>);

struct Scanned {
    known: LruCache<(AgentId, Time), Known>,
    bytes: usize,
}

/// What the items of a transcript before the number `from` have shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) from: u64,
    /// Whether private data was read.
    pub(crate) private: bool,
    /// What the texts of people, pages and search results gave.
    pub(crate) given: Arc<Vec<Given>>,
    /// The calls of the last turn whose outputs were not read yet.
    pub(crate) calls: Calls,
}

/// The words of texts that may be addresses, one per line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    pub(crate) words: String,
    /// The words of the call whose output the text is.
    pub(crate) of_call: String,
}

/// The words of calls, if they may contain an address and the output may give one.
pub(crate) type Calls = HashMap<CallId, String>;

impl Known {
    /// Takes note of a text that was read, and of the words of the call whose output it is.
    pub(crate) fn learn(&mut self, text: &str, of_call: String) {
        let mut words = words_with_addresses(text).peekable();
        if words.peek().is_none() {
            return;
        }
        let given = Arc::make_mut(&mut self.given);
        if given.last().is_none_or(|last| last.of_call != of_call) {
            given.push(Given { of_call, ..Given::default() });
        }
        if let Some(last) = given.last_mut() {
            words.for_each(|word| last.words.extend([word, "\n"]));
        }
    }

    fn bytes(&self) -> usize {
        let given = self.given.iter().map(|given| given.words.len() + given.of_call.len());
        given.chain(self.calls.values().map(String::len)).sum()
    }
}

impl Default for TaintCache {
    fn default() -> Self {
        Self(Mutex::new(Scanned { known: LruCache::new(AGENTS), bytes: 0 }))
    }
}

impl TaintCache {
    // A pruned agent may be created again under the same id: the creation time tells them apart.
    pub(crate) fn of(&self, agent: &Agent) -> Known {
        let mut shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.known.get(&(agent.id, agent.created)).cloned().unwrap_or_default()
    }

    pub(crate) fn keep(&self, agent: &Agent, known: Known) {
        let mut shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.bytes += known.bytes();
        // The previous entry of this agent, or an evicted entry of another.
        let mut gone = shelf.known.push((agent.id, agent.created), known);
        while gone.is_some() || shelf.bytes > BYTES {
            shelf.bytes -= gone.take().map_or(0, |(_, known)| known.bytes());
            if shelf.bytes > BYTES {
                gone = shelf.known.pop_lru();
            }
        }
    }
}

/// Returns the words of a text that may contain an address. An address that the text contains as a whole is
/// whole in one of them, except for the bare name of a host without a dot.
pub(crate) fn words_with_addresses(text: &str) -> impl Iterator<Item = &str> {
    let may_have =
        |word: &&str| word.trim_end_matches(['.', ',', ';', ':', '!', '?']).contains(['.', ':', '/']);
    text.split_whitespace().filter(may_have)
}

#[cfg(test)]
mod tests {
    use entourage_types::Owner;

    use super::*;

    #[test]
    fn the_cache_of_texts_read_by_agents_is_bounded() {
        let (reading, mut agents) = (TaintCache::default(), Vec::new());
        let given =
            |bytes: usize| Arc::new(vec![Given { words: "a".repeat(bytes - 1), of_call: "a".into() }]);
        for _ in 0..3 {
            let agent = Agent::root(Owner::local(), "a", "", Time::from_micros(0));
            let known = Known { given: given(BYTES / 3 + 1), ..Known::default() };
            reading.keep(&agent, Known { from: 1, ..known.clone() });
            // The same agent again, after more of it was read.
            reading.keep(&agent, Known { from: 2, ..known });
            agents.push(agent);
        }
        assert_eq!(agents.iter().map(|agent| reading.of(agent).from).collect::<Vec<_>>(), [0, 2, 2]);
        reading.keep(&agents[0], Known { given: given(BYTES + 1), ..Known::default() });
        let shelf = reading.0.lock().unwrap();
        assert_eq!((shelf.bytes, shelf.known.len()), (0, 0), "one that is too much by itself is not kept");
    }
}
