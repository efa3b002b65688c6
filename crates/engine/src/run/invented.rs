//! Addresses that only an agent chose: what stands in one is told to its host, so that text which an
//! agent has read can have it tell a stranger what else it has read. Whether private data was read, and
//! who gave an address, follows from the transcripts of the whole tree: agents tell each other.

use std::{
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
};

use entourage_store::{AgentQuery, ItemQuery, Page};
use entourage_tools::{Address, Source};
use entourage_types::{Agent, AgentId, Author, Item, ItemBody, Scope, Time};
use lru::LruCache;

use super::{Result, Run};

/// Rows read at once.
const PAGE: u32 = 500;

/// What is on record of an address.
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    /// Private data was read.
    private: bool,
    /// A person, a page or a search result gave it.
    given: bool,
}

/// How many agents' reading is known.
const AGENTS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);

/// What agents' transcripts have shown of their reading so far. Losing it costs time and nothing else.
pub(crate) struct Reading(Mutex<LruCache<(AgentId, Time), Known>>);

/// What the items of a transcript below a number have shown.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    from: u64,
    private: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(AGENTS)))
    }
}

impl Reading {
    // One that was forgotten may be made anew under the same id.
    fn of(&self, agent: &Agent) -> Known {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(agent.id, agent.created)).copied().unwrap_or_default()
    }

    fn keep(&self, agent: &Agent, known: Known) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put((agent.id, agent.created), known);
    }
}

impl Run<'_> {
    /// Whether private data was read in this tree, and nobody but its agents chose this address.
    pub(super) async fn is_invented(&self, address: &Address) -> Result<bool> {
        let needles = address.spellings();
        // Here stands what the store has not got yet, and mostly the address itself.
        let mut record = Record::default();
        self.weigh(&self.items, &needles, &mut record);
        if record.given {
            return Ok(false);
        }
        let tree = self.tree().await?;
        if !record.private && !self.was_private_read(&tree).await? {
            return Ok(false);
        }
        for agent in tree {
            let mut from = 0;
            while let Some(items) = self.page(agent.id, &mut from).await? {
                self.weigh(&items, &needles, &mut record);
                if record.given {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether private data was read in this tree, by what is on record of it. Items never change, so that
    /// each is looked at once.
    async fn was_private_read(&self, tree: &[Agent]) -> Result<bool> {
        for agent in tree {
            let mut known = self.house.inner.reading.of(agent);
            while !known.private
                && let Some(items) = self.page(agent.id, &mut known.from).await?
            {
                let mut record = Record::default();
                self.weigh(&items, &[], &mut record);
                known.private = record.private;
            }
            self.house.inner.reading.keep(agent, known);
            if known.private {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The next items of an agent from a number on, which moves behind them; none where there are no more.
    async fn page(&self, agent: AgentId, from: &mut u64) -> Result<Option<Vec<Item>>> {
        let query = ItemQuery::of(agent, *from, PAGE);
        let items = self.house.inner.store.items(&self.scope(), query).await?;
        *from = items.last().map_or(*from, |last| last.seq + 1);
        Ok(Some(items).filter(|items| !items.is_empty()))
    }

    fn weigh(&self, items: &[Item], needles: &[&str], record: &mut Record) {
        let gives = |text: &str| needles.iter().any(|needle| gives(text, needle));
        for item in items {
            match &item.body {
                ItemBody::Message(message) if message.from == Author::User => {
                    record.given |= gives(&message.text);
                }
                ItemBody::Output(output) => match self.house.inner.offers.source(&output.tool) {
                    // What failed may repeat what it was given.
                    Some(Source::Public | Source::Person) => {
                        record.given |= !output.error && gives(&output.text);
                    }
                    Some(Source::Private) => record.private = true,
                    Some(Source::Agents) => {}
                    // An agent's own tool, or one that was there once; or one that never was.
                    None => record.private |= !output.error,
                },
                _ => {}
            }
        }
    }

    /// All agents of the tree, those that were deleted included.
    async fn tree(&self) -> Result<Vec<Agent>> {
        let mut agents: Vec<Agent> = Vec::new();
        loop {
            let after = agents.last().map(|last| last.id.to_string());
            let page = Page { after, limit: PAGE, ..Page::default() };
            let query = AgentQuery { root: Some(self.agent.root), page, ..AgentQuery::default() };
            let found = self.house.inner.store.agents(&self.scope(), query).await?;
            let is_last = found.len() < PAGE as usize;
            agents.extend(found);
            if is_last {
                return Ok(agents);
            }
        }
    }

    fn scope(&self) -> Scope {
        Scope::from(&self.agent.owner)
    }
}

/// Whether an address stands in a text as a whole. Letters count as they are: their case alone could
/// say something.
fn gives(text: &str, needle: &str) -> bool {
    !needle.is_empty()
        && text.match_indices(needle).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let begins = before.is_none_or(|c| !c.is_alphanumeric() && !"-._~%@&=+$".contains(c));
            begins && ends(&text[at + needle.len()..])
        })
}

/// Whether an address is over where this text begins.
fn ends(rest: &str) -> bool {
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let mut rest = rest.chars();
    match rest.next() {
        None | Some('#') => true,
        // The end of a sentence.
        Some('.' | ',' | ';' | ':' | '!' | '?') => {
            rest.next().is_none_or(|c| c.is_whitespace() || "\"')".contains(c))
        }
        Some(c) => c.is_whitespace() || "\"'`<>()[]{}|\\^*".contains(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str, url: &str) -> bool {
        let (url, host) = (url.to_owned(), String::new());
        let address = Address { written: url.clone(), url, host };
        address.spellings().iter().any(|needle| gives(text, needle))
    }

    #[test]
    fn an_address_is_given_by_a_text_in_which_it_stands_as_a_whole() {
        let url = "https://example.com/docs?page=2";
        for text in [
            "https://example.com/docs?page=2",
            "See example.com/docs?page=2.",
            "[docs](http://example.com/docs?page=2)",
            "<https://example.com/docs?page=2>, and more",
            "example.com/docs?page=2#top",
            "`example.com/docs?page=2`",
            "Is it example.com/docs?page=2?",
        ] {
            assert!(given(text, url), "{text}");
        }
        for text in [
            "",
            "example.com",
            "https://example.com/docs",
            "https://example.com/docs?page=22",
            "https://example.com/docs?page=2&secret=1",
            "https://example.com/docs?page=2.5",
            "https://notexample.com/docs?page=2",
            "https://me@example.com/docs?page=2",
            "https://example.org/docs?page=2",
            "https://example.com/Docs?page=2",
        ] {
            assert!(!given(text, url), "{text}");
        }
        for (text, url) in [
            ("Look at example.com", "https://example.com/"),
            ("Look at https://example.com/ now", "http://example.com/"),
            ("example.com/docs/", "https://example.com/docs"),
        ] {
            assert!(given(text, url), "{text}");
        }
    }
}
