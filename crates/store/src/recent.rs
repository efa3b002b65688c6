//! The commits that happened last, so that one that is repeated happens once.

use std::collections::{HashMap, VecDeque};

use entourage_types::CommitId;

use crate::Committed;

/// How many are remembered: more than callers repeat at once, and as many as fit into a table of 2,048 places.
const KEPT: usize = 1792;

/// The results of the last commits that happened, by id. For a store that one process has to itself: what it
/// forgets when it is closed, no caller repeats any more.
#[derive(Debug, Default)]
pub struct RecentCommits {
    results: HashMap<CommitId, Committed>,
    /// The ids, the oldest first.
    order: VecDeque<CommitId>,
}

impl RecentCommits {
    /// The result of this commit, if it is one of the last that happened.
    #[must_use]
    pub fn get(&self, id: CommitId) -> Option<Committed> {
        self.results.get(&id).copied()
    }

    /// Records that a commit happened.
    pub fn put(&mut self, id: CommitId, result: Committed) {
        self.results.insert(id, result);
        self.order.push_back(id);
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.results.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_commits_are_remembered_and_no_more() {
        let (mut recent, result) = (RecentCommits::default(), Committed { inbox: true });
        let ids: Vec<CommitId> = (0..=KEPT).map(|_| CommitId::new()).collect();
        ids.iter().for_each(|id| recent.put(*id, result));
        assert_eq!(
            (recent.get(ids[0]), recent.get(ids[1]), recent.get(ids[KEPT])),
            (None, Some(result), Some(result))
        );
        assert_eq!((recent.results.len(), recent.order.len()), (KEPT, KEPT));
    }
}
