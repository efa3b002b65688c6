//! Commits whose outcome is not known. An activation needs to know nothing: it ends, and the next one reads what
//! happened. What a person asked for, and what the house does on its own account, is repeated until it is known.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_store::{Commit, Committed, Error, Result, Store, StoreLayer};

use crate::Clock;

/// How often it is repeated, and the pause in between, which doubles from there.
const TIMES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(100);

/// Repeats the commits of those who hold no agent.
pub(crate) struct Repeating {
    pub(crate) clock: Arc<dyn Clock>,
}

#[async_trait]
impl StoreLayer for Repeating {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        if commit.fence.is_some() {
            return store.commit(commit).await;
        }
        let mut outcome = store.commit(commit.clone()).await;
        for again in 0..TIMES {
            if !matches!(outcome, Err(Error::Unknown { .. })) {
                break;
            }
            // At once for the first time: the store has most often connected anew by then.
            if again > 0 {
                self.clock.sleep_until(self.clock.now() + PAUSE * 2_u32.pow(again)).await;
            }
            outcome = store.commit(commit.clone()).await;
        }
        outcome
    }
}
