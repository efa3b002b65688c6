//! Commits of unknown outcome. An activation does not need the outcome: it ends, and the next one reads what
//! happened. A commit of a client or of maintenance is repeated until its outcome is known.

use std::time::Duration;

use entourage_store::{Commit, Committed, Error, Result};
use entourage_types::Backoff;

use crate::Engine;

/// How often a commit is repeated, and the pauses in between.
const TIMES: u32 = 8;
const PAUSES: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_millis(12_800));

impl Engine {
    /// Commits for a caller that holds no claim; repeats the commit under the same id while its outcome is
    /// unknown.
    ///
    /// # Errors
    /// As the store's; [`Error::Unknown`] if the outcome is still unknown after about 25 seconds.
    pub(crate) async fn commit(&self, commit: Commit) -> Result<Committed> {
        let mut outcome = self.store().commit(commit.clone()).await;
        for again in 0..TIMES {
            if !matches!(outcome, Err(Error::Unknown { .. })) {
                break;
            }
            // The first repetition follows at once: most often the store has reconnected by then.
            if again > 0 {
                self.clock().sleep_until(self.now() + PAUSES.after(again)).await;
            }
            outcome = self.store().commit(commit.clone()).await;
        }
        outcome
    }
}
