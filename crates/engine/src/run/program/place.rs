//! A place among the few runs that may do something at once.

use entourage_tools::{FairPlace, FairPlaces};

use crate::run::{Interrupt, Result, Run};

impl Run<'_> {
    /// Waits for a place, which is free again once what this returns is dropped. Waiting is no time at work.
    ///
    /// # Errors
    /// When the activation is to end where it is.
    pub(crate) async fn place_among(&mut self, places: &FairPlaces) -> Result<FairPlace> {
        let before = self.engine.clock().tick();
        let cancel = self.control.cancel();
        let place = async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(Interrupt::Stopping),
                place = places.enter(&self.agent.owner) => Ok(place),
            }
        };
        let place = self.control.pulse().resting(&**self.engine.clock(), place).await;
        self.control.waited(self.engine.clock().tick().since(before));
        place
    }
}
