//! A place among the few runs that may do something at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::run::{Interrupt, Result, Run};

impl Run<'_> {
    /// Waits for a place, which is free again once what this returns is dropped. Waiting is no time at work.
    ///
    /// # Errors
    /// When the activation is to end where it is.
    pub(crate) async fn place_among(&mut self, places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit> {
        let before = self.engine.now();
        let cancel = self.control.cancel();
        let place = async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => None,
                // It is never closed.
                place = Arc::clone(places).acquire_owned() => place.ok(),
            }
        };
        let place = self.control.pulse().beating(&**self.engine.clock(), place).await;
        self.control.waited(self.engine.now().since(before));
        place.ok_or(Interrupt::Stopping)
    }
}
