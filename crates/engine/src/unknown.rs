//! Commits whose outcome is not known. An activation needs to know nothing: it ends, and the next one reads what
//! happened. What a person asks for, and what maintenance does, is repeated until it is known.

use std::time::Duration;

use entourage_store::{Commit, Committed, Error, Result};

use crate::Engine;

/// How often it is repeated, and the pause in between, which doubles from there.
const TIMES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(100);

impl Engine {
    /// Commits for somebody who holds no agent, again under the same id while nobody knows whether it happened.
    ///
    /// # Errors
    /// As the store's; [`Error::Unknown`] where that is still not known after about 25 seconds.
    pub(crate) async fn commit(&self, commit: Commit) -> Result<Committed> {
        let mut outcome = self.inner.store.commit(commit.clone()).await;
        for again in 0..TIMES {
            if !matches!(outcome, Err(Error::Unknown { .. })) {
                break;
            }
            // At once for the first time: the store has most often connected anew by then.
            if again > 0 {
                self.clock().sleep_until(self.now() + PAUSE * 2_u32.pow(again)).await;
            }
            outcome = self.inner.store.commit(commit.clone()).await;
        }
        outcome
    }
}
