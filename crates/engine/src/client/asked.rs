//! Questions as a person who answers many reads them: soonest due first, with where they come from.

use std::collections::{HashMap, hash_map::Entry};

use entourage_store::{ItemQuery, Page, RecordFilter};
use entourage_types::{
    About, Agent, AgentId, CallId, ItemBody, Parent, Question, QuestionId, QuestionStatus,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{Client, Narrowed};
use crate::Result;

/// The turn that asks is among so many of the last items of an agent that waits.
const LAST_ITEMS: u32 = 32;
/// How much of those items is read.
const BYTES: usize = 256 << 10;
/// How much of that turn's text is returned, in characters.
const MOST_TEXT: usize = 2_000;
/// The most agents that a path names.
const LONGEST: usize = 64;
/// How many agents' items are read at once: waiting for one after another takes far longer than the reads.
const LOOKED_UP: usize = 16;

/// Which questions.
#[derive(Debug, Clone, Default)]
pub struct QuestionFilter {
    /// Of this tree.
    pub root: Option<AgentId>,
    /// Asked by this agent.
    pub agent: Option<AgentId>,
    /// In this status.
    pub status: Option<QuestionStatus>,
    /// About this.
    pub about: Option<About>,
    /// Those that are due soonest first, then the others, oldest first; otherwise as the page says.
    pub soonest_first: bool,
    /// Which page.
    pub page: Page,
}

/// A question, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedQuestion {
    /// The question.
    pub question: Question,
    /// The titles from the root to the agent that asks.
    pub path: Vec<String>,
    /// The text of the turn that asks, or its beginning, while the question is open.
    pub because: Option<String>,
}

impl Client {
    /// A page of the questions that a filter selects. It looks at a bounded number of questions.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_questions(&self, filter: QuestionFilter) -> Result<Narrowed<AskedQuestion>> {
        let QuestionFilter { root, agent, status, about, soonest_first, page } = filter;
        // The index of the open questions by their due times knows no trees and no agents.
        let (of_root, of_agent) = (root.filter(|_| !soonest_first), agent.filter(|_| !soonest_first));
        let parent = of_agent.map(Parent::from);
        let filter =
            RecordFilter { root: of_root, parent, status, soonest_first, page, ..RecordFilter::default() };
        let fits = |question: &Question| {
            about.is_none_or(|about| about == question.about)
                && root.is_none_or(|root| root == question.root)
                && agent.is_none_or(|agent| agent == question.agent)
        };
        let found = self.filtered(filter, fits).await?;
        let asking = found.rows.iter().map(|question| (question.status, question.agent, question.call));
        let texts: Vec<_> = stream::iter(asking.collect::<Vec<_>>())
            .map(|(status, agent, call)| self.because(status, agent, call))
            .buffered(LOOKED_UP)
            .try_collect()
            .await?;
        let (mut rows, mut known) = (Vec::with_capacity(texts.len()), HashMap::new());
        for (question, because) in found.rows.into_iter().zip(texts) {
            let path = self.path(question.agent, &mut known).await?;
            rows.push(AskedQuestion { question, path, because });
        }
        Ok(Narrowed { rows, next: found.next })
    }

    /// One question, and where it comes from.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn asked_question(&self, id: QuestionId) -> Result<AskedQuestion> {
        let question = self.question(id).await?;
        let because = self.because(question.status, question.agent, question.call).await?;
        let path = self.path(question.agent, &mut HashMap::new()).await?;
        Ok(AskedQuestion { question, path, because })
    }

    /// The titles from the root to an agent.
    async fn path(&self, asker: AgentId, known: &mut HashMap<AgentId, Agent>) -> Result<Vec<String>> {
        let (mut path, mut next) = (Vec::new(), Some(asker));
        while let Some(id) = next.filter(|_| path.len() < LONGEST) {
            let agent = match known.entry(id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let Some(agent) = self.engine.store().agent(&self.scope, id).await? else { break };
                    place.insert(agent)
                }
            };
            path.push(agent.title.clone());
            next = agent.parent;
        }
        path.reverse();
        Ok(path)
    }

    /// The text of the turn that asks, while the question is open.
    async fn because(&self, status: QuestionStatus, agent: AgentId, call: CallId) -> Result<Option<String>> {
        match status {
            QuestionStatus::Open => self.asking_text(agent, call).await,
            _ => Ok(None),
        }
    }

    /// The text of the turn with this call, if it is among the agent's last items.
    async fn asking_text(&self, agent: AgentId, call: CallId) -> Result<Option<String>> {
        let before = Some(u64::MAX);
        let last = ItemQuery { before, bytes: BYTES, ..ItemQuery::of(agent, 0, LAST_ITEMS) };
        let items = self.engine.store().items(&self.scope, last).await?;
        // If code asks, the text is of the turn that called the code.
        let mut sought = call;
        let text = items.into_iter().rev().find_map(|item| match item.body {
            ItemBody::SubCalls(made) => {
                if made.calls.iter().any(|asked| asked.id == sought) {
                    sought = made.of;
                }
                None
            }
            ItemBody::Turn(turn) if turn.calls.iter().any(|asked| asked.id == sought) => Some(turn.text),
            _ => None,
        });
        Ok(text.filter(|text| !text.is_empty()).map(|text| cut(&text, MOST_TEXT)))
    }
}

/// A text with at most this many characters.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
