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
    /// Commits what makes one more of the records which this filter finds, once per key, unless there may be no more. As
    /// [`commit_once`](Self::commit_once), it returns the answer to the other request if the same one came twice.
    pub(super) async fn commit_one_more<R: Record, A: FromStr + ToString + Copy>(
        &self,
        limit: &OwnerLimit,
        filter: RecordFilter<R>,
        once: Once<'_, A>,
        commit: Commit,
    ) -> Result<Option<A>> {
        let Once { key, request, answer } = once;
        loop {
            let mut one_more = commit.clone();
            match self.make_room(limit, filter.clone(), &mut one_more).await {
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

    /// Refuses a commit that makes one more of the records which this filter finds than there may be. Of two that are
    /// made at once, the store refuses one for another version of a counter, and the caller begins again.
    pub(super) async fn make_room<R: Record>(
        &self,
        limit: &OwnerLimit,
        filter: RecordFilter<R>,
        commit: &mut Commit,
    ) -> Result<()> {
        let OwnerLimit { number: most, what, counter, remedy } = *limit;
        // The counter before the records: whoever makes one meanwhile is counted, or refuses this commit.
        next_number(&**self.engine.store(), &self.owner, counter, commit).await?;
        let page = Page { skip: most - 1, limit: 1, ..Page::default() };
        let last = self.records(RecordFilter { page, ..filter }).await?;
        if last.is_empty() { Ok(()) } else { Err(Error::LimitReached { most, what, remedy }) }
    }
}
