//! Agents that nothing makes go on, for tests of what is done about them.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_store::{Commit, Committed, Result, Store, StoreLayer, Write};
use entourage_types::{Step, Wait};

/// Loses the wake-up of an agent that waits for a minute or less, as no store does: once that time has passed, the agent
/// waits for nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct LostTimers;

/// A longer wait is kept.
const LONGEST: Duration = Duration::from_secs(60);

#[async_trait]
impl StoreLayer for LostTimers {
    async fn commit(&self, store: &Arc<dyn Store>, mut commit: Commit) -> Result<Committed> {
        let until = |step: &Step| match step.wait() {
            Some(Wait::Until { until }) => Some(*until),
            _ => None,
        };
        let lost: Vec<_> = commit
            .writes
            .iter()
            .filter_map(|write| match write {
                Write::Step(step) => until(step).filter(|until| *until <= commit.at + LONGEST),
                _ => None,
            })
            .collect();
        commit
            .writes
            .retain(|write| !matches!(write, Write::ScheduleWakeup(wakeup) if lost.contains(&wakeup.due)));
        store.commit(commit).await
    }
}
