//! Delivers what is in the outbox: receivers side by side, a few deliveries of each at once, each retried
//! until it has arrived or has failed for a day. The outcome of an attempt is on record before the next one.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_store::{Commit, EntityQuery, Error as StoreError, Expect, Page, Write};
use entourage_types::{Backoff, Delivery, DeliveryId, DeliveryStatus, EntityKind, Record, Scope, Time};
use tokio::sync::broadcast;

use super::{Hint, Receiver, Transport, Undelivered, backoff};
use crate::{
    Engine, Result,
    due::{self, Cause, DueRows},
    in_time::in_time,
    metrics,
};

/// Rows per page.
const PAGE: u32 = 500;
/// How long a transport may take for one delivery.
const PATIENCE: Duration = Duration::from_secs(60);
/// The delay after which a delivery is tried again if its outcome could not be recorded.
const AGAIN: Duration = Duration::from_secs(5);

/// The pending deliveries. Each receiver is a lane, so that none waits for another.
struct Deliveries {
    engine: Engine,
    transport: Arc<dyn Transport>,
}

#[async_trait]
impl DueRows for Deliveries {
    type Key = (String, DeliveryId);
    type Lane = String;
    type Hint = Hint;

    const PLACES: usize = 4;
    const HORIZON: Duration = Duration::from_secs(5 * 60);
    const FAILING: Backoff = Backoff::new(AGAIN, AGAIN);

    fn lane((receiver, _): &Self::Key) -> String {
        receiver.clone()
    }

    fn hints(&self) -> broadcast::Receiver<Hint> {
        self.engine.inner.outbox.hints.subscribe()
    }

    fn hinted(&self, Hint { receiver, due, id }: &Hint, _: Time) -> Vec<(Self::Key, Time)> {
        vec![((receiver.clone(), *id), *due)]
    }

    async fn due(&self, until: Time) -> std::result::Result<Vec<(Self::Key, Time)>, Cause> {
        let mut due = Vec::new();
        let take = |delivery: Delivery| {
            if delivery.due <= until {
                due.push(((delivery.receiver, delivery.id), delivery.due));
            }
        };
        each(&self.engine, &Scope::All, DeliveryStatus::Pending, take).await?;
        Ok(due)
    }

    async fn work(&self, (_, id): &Self::Key) -> std::result::Result<Option<Time>, Cause> {
        Ok(self.engine.attempt(*id, &*self.transport).await?)
    }
}

impl Engine {
    /// Delivers what is in the outbox to its receivers, until the engine is [stopping](Engine::stopping). A
    /// delivery that arrived is repeated, under the same id, only if that could not be recorded, for example
    /// because the process ended before.
    pub async fn deliver(&self, transport: Arc<dyn Transport>) {
        let deliveries = Deliveries { engine: self.clone(), transport };
        due::work(deliveries, Arc::clone(self.clock()), self.stopping().clone()).await;
    }

    /// One attempt at a delivery. Returns when the next one is due, if there is to be one.
    async fn attempt(&self, id: DeliveryId, transport: &dyn Transport) -> Result<Option<Time>> {
        // A delivery whose outcome cannot be recorded would be repeated again and again.
        self.store().ready().await?;
        let found = self.store().entity(&Scope::All, EntityKind::DELIVERY, &id.to_string()).await?;
        let Some(entity) = found else { return Ok(None) };
        let mut delivery = Delivery::from_entity(&entity)?;
        if delivery.status != DeliveryStatus::Pending || delivery.due > self.now() {
            return Ok(Some(delivery.due).filter(|_| delivery.status == DeliveryStatus::Pending));
        }
        // A receiver of this name that belongs to another owner by now is not the receiver of this delivery.
        let is_its =
            |receiver: &Receiver| receiver.name == delivery.receiver && receiver.owner == delivery.owner;
        let known = self.inner.outbox.receivers().iter().any(is_its);
        let brought = match known {
            true => in_time(&**self.clock(), PATIENCE, transport.deliver(&delivery))
                .await
                .unwrap_or_else(|why| Err(Undelivered::because(why))),
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
                tracing::warn!(receiver = delivery.receiver, delivery = %id, %why, ?wait, "a webhook did not arrive");
                delivery.error = Some(why);
                if wait.is_none() {
                    delivery.status = DeliveryStatus::GivenUp;
                }
                wait.map(|wait| now + wait)
            }
        };
        delivery.attempts += 1;
        (delivery.due, delivery.updated) = (again.unwrap_or(now), now);
        metrics::attempted(&delivery);
        match self.commit(pending(&delivery, now)?).await {
            Ok(_) => Ok(again),
            // The delivery is not pending any more: another attempt ended it, or it was pruned.
            Err(StoreError::NotInStatus { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The commit that writes a delivery if that is still pending.
fn pending(delivery: &Delivery, at: Time) -> Result<Commit> {
    let pending = Expect::status::<Delivery>(delivery.id, DeliveryStatus::Pending);
    Ok(Commit::new(at).expect(pending).write(Write::record(delivery)?))
}

/// Calls `show` with every delivery of this status, of one owner or of all.
pub(crate) async fn each(
    engine: &Engine,
    scope: &Scope,
    status: DeliveryStatus,
    mut show: impl FnMut(Delivery) + Send,
) -> Result<()> {
    let mut after = None;
    loop {
        let page = Page { after, limit: PAGE, ..Page::default() };
        let status = Some(status.as_str().to_owned());
        let query = EntityQuery { status, page, ..EntityQuery::of(EntityKind::DELIVERY) };
        let found = engine.store().entities(scope, query).await?;
        for entity in &found {
            show(Delivery::from_entity(entity)?);
        }
        after = found.last().filter(|_| found.len() == PAGE as usize).map(|last| last.id.clone());
        if after.is_none() {
            return Ok(());
        }
    }
}
