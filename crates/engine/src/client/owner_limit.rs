//! How many of something an owner may have.

use std::str::FromStr;

use entourage_store::{Commit, Error as StoreError, Page, RecordFilter, counter::next_number};
use entourage_types::{EntityKind, Record};

use super::Client;
use crate::{Error, Result};

/// A limit on the records of an owner.
pub(super) struct OwnerLimit {
    pub(super) number: u32,
    /// What is counted, as people say it.
    pub(super) what: &'static str,
    /// The name of the counter by which two requests at once know of each other. It stays: stores have it.
    pub(super) counter: &'static str,
    /// What makes room for more.
    pub(super) remedy: &'static str,
}

/// A request that is done once per key.
pub(super) struct Once<'a, A> {
    pub(super) key: Option<&'a str>,
    pub(super) request: &'a str,
    /// What it is answered with.
    pub(super) answer: A,
}

impl Client {
    /// Commits what makes one more of the records which these filters find, none of them twice, once per key, unless there may be no more. As
    /// [`commit_once`](Self::commit_once), it returns the answer to the other request if the same one came twice.
    pub(super) async fn commit_one_more<R: Record, A: FromStr + ToString + Copy>(
        &self,
        limit: &OwnerLimit,
        filters: &[RecordFilter<R>],
        once: Once<'_, A>,
        commit: Commit,
    ) -> Result<Option<A>> {
        let Once { key, request, answer } = once;
        loop {
            let mut one_more = commit.clone();
            match self.make_room(limit, filters, &mut one_more).await {
                // The same request may have taken the last place.
                Err(full @ Error::LimitReached { .. }) => {
                    return self.first_answer(key, request).await?.map(Some).ok_or(full);
                }
                room => room?,
            }
            match self.commit_once(key, request, answer, one_more).await {
                // Another one was made at the same moment.
                Err(Error::Store(StoreError::OtherVersion { kind: EntityKind::COUNTER, .. })) => {}
                done => return done,
            }
        }
    }

    /// Refuses a commit that makes one more of the records which these filters find than there may be. Of two that are
    /// made at once, the store refuses one for another version of a counter, and the caller begins again.
    pub(super) async fn make_room<R: Record>(
        &self,
        limit: &OwnerLimit,
        filters: &[RecordFilter<R>],
        commit: &mut Commit,
    ) -> Result<()> {
        let OwnerLimit { number: most, what, counter, remedy } = *limit;
        // The counter before the records: whoever makes one meanwhile is counted, or refuses this commit.
        next_number(&**self.engine.store(), &self.owner, counter, commit).await?;
        let mut left = most;
        for (at, filter) in filters.iter().enumerate() {
            if self.has_nth(filter, left - 1).await? {
                return Err(Error::LimitReached { most, what, remedy });
            }
            if at + 1 < filters.len() {
                left -= self.count_below(filter, left).await?;
            }
        }
        Ok(())
    }

    /// How many records a filter finds, which are fewer than this. It reads few of them, and none that it counts.
    async fn count_below<R: Record>(&self, filter: &RecordFilter<R>, most: u32) -> Result<u32> {
        let (mut at_least, mut fewer_than) = (0, most);
        while at_least + 1 < fewer_than {
            let middle = at_least.midpoint(fewer_than);
            match self.has_nth(filter, middle - 1).await? {
                true => at_least = middle,
                false => fewer_than = middle,
            }
        }
        Ok(at_least)
    }

    /// Whether a filter finds more records than this.
    async fn has_nth<R: Record>(&self, filter: &RecordFilter<R>, nth: u32) -> Result<bool> {
        let page = Page { skip: nth, limit: 1, ..Page::default() };
        Ok(!self.records(RecordFilter { page, ..filter.clone() }).await?.is_empty())
    }
}
