//! The events of a tree in buckets, from which a client chooses the event after which it shows the tree.

use entourage_store::EventQuery;
use entourage_types::{AgentId, Time};

use super::Client;
use crate::Result;

/// Some events of a tree that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineBucket {
    /// The number of the first one.
    pub first: u64,
    /// The number of the last one.
    pub last: u64,
    /// When the first one was committed.
    pub began: Time,
    /// When the last one was committed.
    pub ended: Time,
}

impl Client {
    /// The events that are kept of the tree that an agent belongs to, in so many buckets or fewer, with about as many
    /// events in each: [`tree_at`](Self::tree_at) shows the tree as it was after one of them.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn timeline(&self, of: AgentId, buckets: u32) -> Result<Vec<TimelineBucket>> {
        let root = self.agent(of).await?.root;
        let store = self.engine.store();
        let Some(oldest) = store.events(&self.scope, root, 0, 1).await?.pop() else { return Ok(Vec::new()) };
        let newest = self.last_event(root).await?;
        let kept = newest + 1 - oldest.seq;
        let count = u64::from(buckets).min(kept);
        let begin = |nth: u64| oldest.seq + kept * nth / count;
        let mut found = Vec::new();
        for nth in 0..count {
            let (first, last) = (begin(nth), begin(nth + 1) - 1);
            let (began, ended) = (self.time_of(root, first).await?, self.time_of(root, last).await?);
            // None if they were pruned meanwhile.
            found.extend(began.zip(ended).map(|(began, ended)| TimelineBucket { first, last, began, ended }));
        }
        Ok(found)
    }

    /// When an event of a tree was committed; none if it is not kept.
    async fn time_of(&self, root: AgentId, number: u64) -> Result<Option<Time>> {
        let query = EventQuery { before: Some(number + 1), ..EventQuery::of(root, number - 1, 1) };
        let found = self.engine.store().select_events(&self.scope, query).await?;
        Ok(found.first().map(|event| event.at))
    }
}
