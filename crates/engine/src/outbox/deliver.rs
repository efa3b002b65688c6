//! Delivers what is in the outbox: receivers side by side, a few deliveries of each at once, each retried
//! until it has arrived or has failed for a day. The outcome of an attempt is on record before the next one.

use std::{sync::Arc, time::Duration};

use entourage_store::{Commit, Error as StoreError, Expect, RecordFilter, Write};
use entourage_types::{Delivery, DeliveryId, DeliveryStatus, Scope, Time};

use super::{Receiver, Transport, Undelivered, backoff};
use crate::{
    Engine, Error, Result,
    due::{Limits, Next, Page, Work, Worker, rows},
    metrics,
    pages::pages,
    signals::DeliveryHint,
    with_timeout::with_timeout,
};

/// How long a transport may take for one delivery.
const PATIENCE: Duration = Duration::from_secs(60);
/// The delay after which a delivery is tried again if its outcome could not be recorded, and the outbox is
/// read again if it could not be read.
const AGAIN: Duration = Duration::from_secs(5);

/// The work of the outbox: a key is a delivery, and its lane is the receiver's name, so that no receiver waits
/// for another.
struct Deliveries {
    engine: Engine,
    transport: Arc<dyn Transport>,
}

impl Work for Deliveries {
    type Key = DeliveryId;
    type Lane = String;
    type Cursor = String;
    type Hint = DeliveryHint;
    type Outcome = Result<Option<Time>>;

    fn horizon(&self) -> Duration {
        // Other nodes write deliveries, too, and what they say of them may be lost.
        let is_shared = self.engine.inner.signals.poll_interval().is_some();
        if is_shared { AGAIN } else { Duration::from_secs(5 * 60) }
    }

    fn limits(&self) -> Limits {
        Limits { in_all: usize::MAX, per_lane: 4 }
    }

    async fn page(&self, until: Time, after: Option<String>) -> Result<Page<Self>> {
        let pending = RecordFilter::in_status(DeliveryStatus::Pending);
        let (found, next) = rows(&**self.engine.store(), pending, after).await?;
        let is_due = |delivery: &Delivery| delivery.due <= until;
        let due = found.into_iter().filter(is_due).map(|found| (found.id, found.receiver, found.due));
        Ok(Page { due: due.collect(), next })
    }

    fn unread(&mut self, error: &Error, _: Time) -> Duration {
        if !matches!(error, Error::Store(error) if error.is_outage()) {
            tracing::error!(%error, "the outbox could not be read");
        }
        AGAIN
    }

    fn on_hint(&self, hint: &DeliveryHint, _: Time, mut put: impl FnMut(DeliveryId, &String, Time)) {
        put(hint.id, &hint.receiver, hint.due);
    }

    fn start(
        &self,
        id: DeliveryId,
        _: &String,
        _: Time,
    ) -> impl Future<Output = Self::Outcome> + Send + 'static {
        let (engine, transport) = (self.engine.clone(), Arc::clone(&self.transport));
        async move { engine.attempt(id, &*transport).await }
    }

    fn ended(&mut self, id: DeliveryId, outcome: Result<Self::Outcome, String>, now: Time) -> Next {
        let cause = match outcome {
            Ok(Ok(again)) => return again.map_or(Next::Done, Next::At),
            // The dispatcher reports an outage of the store, once for all.
            Ok(Err(Error::Store(error))) if error.is_outage() => return Next::NotBefore(now + AGAIN),
            Ok(Err(error)) => error.to_string(),
            Err(crash) => crash,
        };
        tracing::error!(delivery = %id, %cause, "a delivery could not be read, or its outcome not recorded; it is tried again");
        Next::NotBefore(now + AGAIN)
    }
}

impl Engine {
    /// Delivers what is in the outbox to its receivers, until the engine is [stopping](Engine::stopping). A
    /// delivery that arrived is repeated, under the same id, only if that could not be recorded, for example
    /// because the process ended before.
    pub async fn deliver(&self, transport: Arc<dyn Transport>) {
        let hints = self.inner.outbox.hints.subscribe();
        let work = Deliveries { engine: self.clone(), transport };
        Worker::new(work, hints, Arc::clone(self.clock())).run(self.stopping()).await;
    }

    /// One attempt at a delivery. Returns when the next one is due, if there is to be one.
    async fn attempt(&self, id: DeliveryId, transport: &dyn Transport) -> Result<Option<Time>> {
        // A delivery whose outcome cannot be recorded would be repeated again and again.
        self.store().ready().await?;
        if !self.inner.signals.holds_lease() {
            // Another node may make the deliveries by now.
            return Ok(Some(self.now() + AGAIN));
        }
        let Some((mut delivery, version)) = self.pending_delivery(id).await? else { return Ok(None) };
        if delivery.due > self.now() {
            return Ok(Some(delivery.due));
        }
        // A receiver of this name that belongs to another owner by now is not the receiver of this delivery.
        let is_its =
            |receiver: &Receiver| receiver.name == delivery.receiver && receiver.owner == delivery.owner;
        let known = self.inner.outbox.receivers().iter().any(is_its);
        let brought = match known {
            true => with_timeout(&**self.clock(), PATIENCE, transport.deliver(&delivery))
                .await
                .unwrap_or_else(|why| Err(Undelivered::because(why.to_string()))),
            false => Err(Undelivered::because("no receiver of this name is configured any more")),
        };
        let now = self.now();
        let again = match brought {
            Ok(()) => {
                (delivery.status, delivery.error) = (DeliveryStatus::Delivered, None);
                None
            }
            Err(Undelivered { why, retry_after }) => {
                let wait = backoff::next(&delivery, retry_after).filter(|_| known);
                tracing::warn!(receiver = delivery.receiver, delivery = %id, %why, ?wait, "a delivery did not arrive");
                delivery.error = Some(why);
                if wait.is_none() {
                    delivery.status = DeliveryStatus::GivenUp;
                }
                wait.map(|wait| now + wait)
            }
        };
        delivery.attempts += 1;
        (delivery.due, delivery.tried, delivery.updated) = (again.unwrap_or(now), Some(now), now);
        metrics::attempted(&delivery);
        self.record_attempt(&delivery, version, again).await
    }

    /// Records how an attempt at a delivery ended, given the version that it began with. Returns when the next
    /// one is due, if there is to be one.
    async fn record_attempt(
        &self,
        tried: &Delivery,
        mut version: u64,
        again: Option<Time>,
    ) -> Result<Option<Time>> {
        loop {
            let unchanged = Expect::version::<Delivery>(tried.id, version);
            let commit = Commit::new(tried.updated).expect(unchanged).write(Write::record(tried)?);
            match self.commit(commit).await {
                Ok(_) => return Ok(again),
                Err(StoreError::OtherVersion { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            match self.pending_delivery(tried.id).await? {
                // A person asked for another attempt meanwhile; one that arrived needs none.
                Some((_, found)) if tried.status == DeliveryStatus::Delivered => version = found,
                found => return Ok(found.map(|(delivery, _)| delivery.due)),
            }
        }
    }

    /// A delivery that is pending, with the version of its row. None if an attempt ended it, or it was pruned.
    async fn pending_delivery(&self, id: DeliveryId) -> Result<Option<(Delivery, u64)>> {
        let found = self.store().versioned::<Delivery>(&Scope::All, id).await?;
        let pending = found.filter(|found| found.record.status == DeliveryStatus::Pending);
        Ok(pending.map(|found| (found.record, found.version)))
    }
}

/// Calls `show` with every delivery of this status, of one owner or of all.
pub(crate) async fn each(
    engine: &Engine,
    scope: &Scope,
    status: DeliveryStatus,
    mut show: impl FnMut(Delivery) + Send,
) -> Result<()> {
    let mut pages = pages(&**engine.store(), scope, RecordFilter::<Delivery>::in_status(status));
    while let Some(page) = pages.next().await? {
        page.into_iter().for_each(&mut show);
    }
    Ok(())
}
