//! A store for a process that may end right after a commit, as a command does: what a commit schedules is handed over
//! before it returns.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_engine::Clock;
use entourage_store::{Commit, Committed, Layered, Result, Store, StoreLayer};
use tokio::{sync::mpsc, time::timeout};

use crate::{
    LAST, Restate,
    ingress::{self, Handover, Ingress},
    sweeper::SOON,
};

struct AtOnce {
    ingress: Ingress,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl StoreLayer for AtOnce {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Result<Committed> {
        let mut woken = store.woken();
        let committed = store.commit(commit).await?;
        let (queue, to_send) = mpsc::channel(ingress::QUEUE);
        let soon = self.clock.now() + SOON;
        while let Ok(wakeups) = woken.try_recv() {
            for wakeup in wakeups.iter().filter(|wakeup| wakeup.due <= soon) {
                // The nodes find what does not fit.
                let _ = queue.try_send(Handover::new(wakeup, 0));
            }
        }
        drop(queue);
        // And what cannot be sent.
        let _ = timeout(LAST, self.ingress.send_all(to_send, &*self.clock)).await;
        Ok(committed)
    }
}

impl Restate {
    /// A store whose commits hand over what they schedule before they return, for a process that may end right after one. If
    /// Restate takes nothing within a second, the nodes find it.
    #[must_use]
    pub fn handing_over(&self, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Arc<dyn Store> {
        Arc::new(Layered::new(store, AtOnce { ingress: self.ingress.clone(), clock }))
    }
}
