//! How many of something an owner may have.

use entourage_store::{Commit, Page, RecordFilter, counter::next_number};
use entourage_types::Record;

use super::Client;
use crate::{Error, Result};

/// A limit on the records of an owner.
pub(super) struct Most {
    pub(super) number: u32,
    /// What is counted, as people say it; also the name of the counter.
    pub(super) what: &'static str,
    /// What makes room for more.
    pub(super) remedy: &'static str,
}

impl Most {
    pub(super) const fn reached(&self) -> Error {
        Error::LimitReached { most: self.number, what: self.what, remedy: self.remedy }
    }
}

impl Client {
    /// Refuses a commit that makes one more of the records which this filter finds than there may be. Of two that are
    /// made at once, the store refuses one for another version of a counter, and the caller begins again.
    pub(super) async fn make_room<R: Record>(
        &self,
        most: &Most,
        filter: RecordFilter<R>,
        commit: &mut Commit,
    ) -> Result<()> {
        // The counter before the records: whoever makes one meanwhile is counted, or refuses this commit.
        next_number(&**self.engine.store(), &self.owner, most.what, commit).await?;
        let page = Page { skip: most.number - 1, limit: 1, ..Page::default() };
        let last = self.records(RecordFilter { page, ..filter }).await?;
        if last.is_empty() { Ok(()) } else { Err(most.reached()) }
    }
}
