//! The embedded dispatcher: one process, and one worker whose lanes are the owners. It needs no lease and no
//! membership, because the store's file belongs to this process alone.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_store::Store;
use tokio_util::sync::CancellationToken;

use super::{Advance, Dispatcher, wakeups::WakeupWork};
use crate::{Clock, Result, due::Worker};

/// The settings of a dispatcher that delivers in its own process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The most agents at work at once.
    pub concurrency: usize,
    /// The most agents of one owner at work at once; as many as of all, if none is given.
    pub per_owner: Option<usize>,
    /// How long activations in progress may take to end after the dispatcher is stopped.
    pub grace: Duration,
    /// Consecutive failures after which the dispatcher ends an agent's run.
    pub give_up_after: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { concurrency: 1024, per_owner: None, grace: Duration::from_secs(5), give_up_after: 5 }
    }
}

/// The embedded dispatcher.
#[derive(Debug, Clone, Default)]
pub struct Embedded {
    settings: Settings,
}

impl Embedded {
    /// A dispatcher with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }
}

#[async_trait]
impl Dispatcher for Embedded {
    async fn run(
        &self,
        engine: Arc<dyn Advance>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Result<()> {
        // Subscribe before the first read, so that no wake-up is missed in between.
        let woken = store.woken();
        let work = WakeupWork::new(self.settings.clone(), Arc::clone(&engine), store, None);
        let worker = Worker::new(work, woken, clock);
        deliver(worker, &*engine, &stop, self.settings.grace).await
    }
}

/// Delivers until the worker is stopped, and waits as long for activations in progress as their grace allows.
pub(super) async fn deliver(
    mut worker: Worker<WakeupWork>,
    engine: &dyn Advance,
    stop: &CancellationToken,
    grace: Duration,
) -> Result<()> {
    worker.look().await?;
    let mut working = worker.run(stop).await;
    engine.occupied(None);
    // Agents notice the stop at their next step. An activation that does not end in time is aborted, which loses nothing.
    let end = tokio::time::timeout(grace, async { while working.join_next().await.is_some() {} });
    if end.await.is_err() {
        working.abort_all();
    }
    Ok(())
}
