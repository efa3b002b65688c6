//! The events of a tree in buckets, from which a client chooses the event after which it shows the tree.

use entourage_types::{AgentId, Time};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::Client;
use crate::Result;

/// How many boundaries are looked up at once: waiting for one after another takes far longer than the reads.
const LOOKED_UP: usize = 32;

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
        let last = |nth: u64| begin(nth + 1) - 1;
        let boundaries: Vec<_> = stream::iter(0..count)
            .map(|nth| self.times_after(root, last(nth) - 1))
            .buffered(LOOKED_UP)
            .try_collect()
            .await?;
        let mut found = Vec::new();
        let mut began = Some(oldest.at);
        for (nth, (ended, next)) in (0..count).zip(boundaries) {
            let (first, last) = (begin(nth), last(nth));
            // None if they were pruned meanwhile.
            found.extend(began.zip(ended).map(|(began, ended)| TimelineBucket { first, last, began, ended }));
            began = next;
        }
        Ok(found)
    }

    /// When the two events of a tree after this number were committed; none of one that is not kept.
    async fn times_after(&self, root: AgentId, after: u64) -> Result<(Option<Time>, Option<Time>)> {
        let found = self.engine.store().events(&self.scope, root, after, 2).await?;
        let time = |number| found.iter().find(|event| event.seq == number).map(|event| event.at);
        Ok((time(after + 1), time(after + 2)))
    }
}
