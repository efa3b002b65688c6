//! Addresses that only an agent chose. A request sends its address to a host, so a text that an agent has
//! read could make the agent reveal to a stranger what else it has read. Whether private data was read, and
//! who gave an address, follows from the transcripts of the whole tree, since agents pass texts on to each
//! other, and from the instructions of its kinds as they are now. A call's output gives no address that the
//! call wrote itself: a page may repeat what it was asked, and a person chooses among the options they are offered.

use entourage_store::{AgentQuery, ItemQuery, Page};
use entourage_tools::{Address, words_of_call};
use entourage_types::{
    About, Agent, AgentId, Item, ItemBody, Kind, OutputEffect, Question, QuestionId, ResultSource, Scope,
    SubOutput, ToolCall,
};

use crate::{
    Engine,
    pages::ROWS,
    run::{Result, Run},
    taint_cache::{Calls, Known, words_with_addresses},
};

/// An address, and the spellings in which a text may contain it.
struct Spellings {
    address: Address,
    spellings: Vec<String>,
}

impl From<Address> for Spellings {
    fn from(address: Address) -> Self {
        Self { spellings: address.spellings().into_iter().map(str::to_owned).collect(), address }
    }
}

impl Spellings {
    fn stands_in(&self, text: &str) -> bool {
        self.spellings.iter().any(|needle| gives(text, needle))
    }

    /// Whether a text gives the address, beyond the words of the call whose output it is.
    fn is_given_by(&self, text: &str, of_call: &str) -> bool {
        self.stands_in(text) && !self.address.is_among(of_call)
    }

    fn is_known(&self, known: &Known) -> bool {
        known.given.iter().any(|given| self.is_given_by(&given.words, &given.of_call))
    }
}

/// What an item shows of its agent's reading.
enum Shows<'a> {
    /// A text of a person, a page or a search result, and the words of the call whose output it is.
    Given(&'a str, String),
    /// Private data was read.
    Private,
    /// Nothing.
    Nothing,
}

/// What the agents of a tree have read, as one of them sees it.
pub(in crate::run) struct Readings<'r> {
    engine: &'r Engine,
    agent: &'r Agent,
    kind: &'r Kind,
    /// The items of the agent's session.
    items: &'r [Item],
}

impl<'r> Readings<'r> {
    pub(in crate::run) fn of(run: &'r Run<'_>) -> Self {
        Self { engine: run.engine, agent: &run.agent, kind: &run.kind, items: run.items() }
    }

    fn scope(&self) -> Scope {
        Scope::from(&self.agent.owner)
    }

    /// Returns those of the addresses that only agents of this tree chose, if private data was read in the
    /// tree. An address in the instructions of their kinds is not chosen by them. Items never change, so each
    /// is scanned once, for all addresses together.
    pub(in crate::run) async fn invented(&self, addresses: Vec<Address>) -> Result<Vec<Address>> {
        if addresses.is_empty() {
            return Ok(addresses);
        }
        let mut left: Vec<Spellings> = addresses.into_iter().map(Spellings::from).collect();
        left.retain(|sought| !sought.stands_in(&self.kind.instructions));
        let (mut private, mut calls) = (false, Calls::new());
        // These items include those that are not in the store yet, and mostly contain the addresses.
        for item in self.items {
            match self.says(item, &mut calls).await? {
                Shows::Given(text, of_call) => left.retain(|sought| !sought.is_given_by(text, &of_call)),
                Shows::Private => private = true,
                Shows::Nothing => {}
            }
        }
        if left.is_empty() {
            return Ok(Vec::new());
        }
        let tree = self.tree().await?;
        if !private && !self.was_private_read(&tree).await? {
            return Ok(Vec::new());
        }
        let kinds = self.engine.kinds();
        for agent in &tree {
            let known = self.read_on(agent, |_| false).await?;
            left.retain(|sought| !sought.is_known(&known));
            // The author of the kinds is trusted with more than an address.
            if let Some(kind) = kinds.get(&agent.kind) {
                left.retain(|sought| !sought.stands_in(&kind.instructions));
            }
            if left.is_empty() {
                break;
            }
        }
        Ok(left.into_iter().map(|sought| sought.address).collect())
    }

    /// Whether private data was read in this tree, according to the stored transcripts.
    async fn was_private_read(&self, tree: &[Agent]) -> Result<bool> {
        for agent in tree {
            if self.read_on(agent, |known| known.private).await?.private {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns what the transcript of an agent shows: the cached state and the items written since, read
    /// until `is_enough`.
    async fn read_on(&self, agent: &Agent, is_enough: impl Fn(&Known) -> bool) -> Result<Known> {
        let mut known = self.engine.inner.taint.of(agent);
        while !is_enough(&known)
            && let Some(items) = self.page(agent.id, &mut known.from).await?
        {
            for item in &items {
                match self.says(item, &mut known.calls).await? {
                    Shows::Given(text, of_call) => known.learn(text, of_call),
                    Shows::Private => known.private = true,
                    Shows::Nothing => {}
                }
            }
        }
        self.engine.inner.taint.keep(agent, known.clone());
        Ok(known)
    }

    /// Returns the next items of an agent from number `from` on, and moves `from` behind them; none if there
    /// are no more.
    async fn page(&self, agent: AgentId, from: &mut u64) -> Result<Option<Vec<Item>>> {
        let query = ItemQuery::of(agent, *from, ROWS);
        let items = self.engine.store().items(&self.scope(), query).await?;
        *from = items.last().map_or(*from, |last| last.seq + 1);
        Ok(Some(items).filter(|items| !items.is_empty()))
    }

    /// Returns what an item shows; `calls` are those of the turn before it, and of their code.
    async fn says<'i>(&self, item: &'i Item, calls: &mut Calls) -> Result<Shows<'i>> {
        Ok(match &item.body {
            ItemBody::Message(message) if message.from.is_outside() => {
                Shows::Given(&message.text, String::new())
            }
            ItemBody::Turn(turn) => {
                *calls = self.words_of(&turn.calls);
                Shows::Nothing
            }
            ItemBody::SubCalls(made) => {
                calls.extend(self.words_of(&made.calls));
                Shows::Nothing
            }
            ItemBody::Output(output) | ItemBody::SubOutput(SubOutput { output, .. }) => match self
                .engine
                .source(&output.tool)
            {
                Some(ResultSource::Public | ResultSource::Person) if !output.error => match output.effect {
                    Some(OutputEffect::Asked(question)) if !self.is_users_own(question).await? => {
                        Shows::Nothing
                    }
                    _ => Shows::Given(&output.text, calls.remove(&output.call).unwrap_or_default()),
                },
                // The text of a failed call may repeat its arguments.
                Some(ResultSource::Public | ResultSource::Person | ResultSource::Agents) => Shows::Nothing,
                Some(ResultSource::Private) => Shows::Private,
                // A tool of the agent's own, or one that existed once; with an error, perhaps one that never
                // existed.
                None if output.error => Shows::Nothing,
                None => Shows::Private,
            },
            _ => Shows::Nothing,
        })
    }

    fn words_of(&self, calls: &[ToolCall]) -> Calls {
        let toolsets = &self.engine.inner.toolsets;
        let may_give = |tool: &str| {
            matches!(self.engine.source(tool), Some(ResultSource::Public | ResultSource::Person))
        };
        let calls = calls.iter().filter(|call| may_give(&call.tool));
        let words =
            calls.map(|call| (call.id, words_of_call(&call.arguments, toolsets.address(call).as_ref())));
        words.filter(|(_, words)| words_with_addresses(words).next().is_some()).collect()
    }

    /// Whether the answer to a question is the user's own text about anything: not an answer that another
    /// agent wrote, nor a text instead of a verdict, which is about the very address that it names.
    async fn is_users_own(&self, question: QuestionId) -> Result<bool> {
        let question = self.engine.store().record::<Question>(&self.scope(), question).await?;
        Ok(question
            .is_some_and(|question| question.about == About::Information && question.answered_by.is_none()))
    }

    /// Returns all agents of the tree, including deleted ones.
    async fn tree(&self) -> Result<Vec<Agent>> {
        let (root, page) = (Some(self.agent.root), Page::all());
        let query = AgentQuery { root, page, ..AgentQuery::default() };
        Ok(self.engine.store().agents(&self.scope(), query).await?)
    }
}

/// Whether a text contains an address as a whole. Case counts: it alone could carry data.
fn gives(text: &str, needle: &str) -> bool {
    !needle.is_empty()
        && text.match_indices(needle).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let begins = before.is_none_or(|c| !c.is_alphanumeric() && !"-._~%@&=+$".contains(c));
            begins && ends(&text[at + needle.len()..])
        })
}

/// Whether an address ends where this text begins.
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

    fn is_given(text: &str, url: &str) -> bool {
        let (url, host) = (url.to_owned(), String::new());
        let address = Address { written: url.clone(), url, host };
        let sought = Spellings::from(address);
        let mut known = Known::default();
        known.learn(text, String::new());
        assert_eq!(sought.is_known(&known), sought.stands_in(text), "{text}");
        sought.stands_in(text)
    }

    #[test]
    fn an_address_counts_as_given_only_if_a_text_contains_it_whole() {
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
            assert!(is_given(text, url), "{text}");
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
            assert!(!is_given(text, url), "{text}");
        }
        for (text, url) in [
            ("Look at example.com", "https://example.com/"),
            ("Look at https://example.com/ now", "http://example.com/"),
            ("example.com/docs/", "https://example.com/docs"),
        ] {
            assert!(is_given(text, url), "{text}");
        }
    }
}
