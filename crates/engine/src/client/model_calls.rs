//! The calls of models, each with what it used: what sums of usage are made of.

use entourage_store::{ItemQuery, Page};
use entourage_types::{AgentId, Item, ItemBody, ModelUse, RunId, Time};

use super::{Client, Narrowed, RunFilter};
use crate::Result;

/// How much of a transcript is held at once.
const ITEMS: u32 = 200;
const BYTES: usize = 1 << 20;

/// An answered call of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// The agent that made it.
    pub agent: AgentId,
    /// The run that it belongs to.
    pub run: RunId,
    /// When it was answered.
    pub at: Time,
    /// The model, its tokens and its price.
    pub used: ModelUse,
}

impl Client {
    /// The model calls of a page of runs, those of the newest run first, and of one run in the order in which they were
    /// made. Calls whose answers were discarded are counted in sums alone.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn model_calls(&self, page: Page) -> Result<Narrowed<ModelCall>> {
        let Narrowed { rows: runs, next } =
            self.find_runs(RunFilter { page, ..RunFilter::default() }).await?;
        let mut rows = Vec::new();
        for run in runs {
            let mut from = self.first_since(run.agent, run.started).await?;
            loop {
                let part = ItemQuery { bytes: BYTES, ..ItemQuery::of(run.agent, from, ITEMS) };
                let items = self.transcript_part(part).await?;
                rows.extend(items.iter().filter(|item| item.run == run.id).filter_map(call_of));
                // An agent's runs follow each other.
                let is_over =
                    |item: &Item| item.run != run.id && run.ended.is_some_and(|ended| item.at > ended);
                match items.last() {
                    Some(last) if !is_over(last) => from = last.seq + 1,
                    _ => break,
                }
            }
        }
        Ok(Narrowed { rows, next })
    }

    /// The number of an agent's first item that was written at this time or later: found by halves, so that a run of an
    /// agent of many years is as near as any.
    async fn first_since(&self, agent: AgentId, since: Time) -> Result<u64> {
        let (mut from, mut to) = (0, self.agent(agent).await?.items);
        while from < to {
            let middle = from + (to - from) / 2;
            match self.items(agent, middle, 1).await?.first() {
                Some(item) if item.at < since => from = middle + 1,
                _ => to = middle,
            }
        }
        Ok(from)
    }
}

/// The call whose answer an item is.
fn call_of(item: &Item) -> Option<ModelCall> {
    let used = match &item.body {
        ItemBody::Turn(turn) => turn.used.clone(),
        ItemBody::Decision(decision) => decision.used.clone(),
        ItemBody::Digest(digest) => digest.used.clone(),
        _ => None,
    };
    Some(ModelCall { agent: item.agent, run: item.run, at: item.at, used: used? })
}
