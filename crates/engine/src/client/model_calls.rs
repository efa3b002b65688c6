//! The calls of models, each with what it used: what sums of usage are made of.

use entourage_store::Page;
use entourage_types::{AgentId, Item, ItemBody, ModelUse, RunId, Time};

use super::{Client, Narrowed, RunFilter};
use crate::Result;

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
            rows.extend(self.items_of(&run).await?.iter().filter_map(call_of));
        }
        Ok(Narrowed { rows, next })
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
