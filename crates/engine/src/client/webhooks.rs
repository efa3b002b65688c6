//! The receivers that are notified of an owner's tasks and questions: their state, and retrying what did not
//! arrive.

use entourage_store::{Commit, Error as StoreError, Expect, Page, RecordFilter, Versioned, Write};
use entourage_types::{Delivery, DeliveryId, DeliveryStatus, Occasion, Time};

use super::{Client, Narrowed};
use crate::{Error, Receiver, Result, outbox};

/// The state of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverRecord {
    /// Its name in the settings.
    pub name: String,
    /// What it is notified of.
    pub events: Vec<Occasion>,
    /// The number of pending deliveries.
    pub pending: u64,
    /// The number of deliveries that were given up and are not pruned yet.
    pub given_up: u64,
    /// The latest failed attempt among those.
    pub last_failure: Option<FailedAttempt>,
    /// When the next attempt is due, if there is to be one.
    pub next_attempt: Option<Time>,
}

/// An attempt at a delivery that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempt {
    /// Which delivery.
    pub delivery: DeliveryId,
    /// The number of attempts so far.
    pub attempts: u32,
    /// When.
    pub at: Time,
    /// Why.
    pub error: String,
}

impl ReceiverRecord {
    fn new(receiver: &Receiver) -> Self {
        let Receiver { name, events, .. } = receiver;
        let (name, events) = (name.clone(), events.clone());
        Self { name, events, pending: 0, given_up: 0, last_failure: None, next_attempt: None }
    }

    fn count(&mut self, delivery: Delivery) {
        match delivery.status {
            DeliveryStatus::Pending => {
                self.pending += 1;
                self.next_attempt = Some(self.next_attempt.map_or(delivery.due, |at| at.min(delivery.due)));
            }
            DeliveryStatus::GivenUp => self.given_up += 1,
            DeliveryStatus::Delivered => {}
        }
        let at = delivery.tried.unwrap_or(delivery.updated);
        let later = self.last_failure.as_ref().is_none_or(|last| last.at <= at);
        if let Some(error) = delivery.error.filter(|_| later) {
            let (delivery, attempts) = (delivery.id, delivery.attempts);
            self.last_failure = Some(FailedAttempt { delivery, attempts, at, error });
        }
    }
}

impl Client {
    /// The receivers that are notified of the owner's tasks and questions, with the state of each.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn receivers(&self) -> Result<Vec<ReceiverRecord>> {
        let mut records: Vec<_> = self.own_receivers().map(ReceiverRecord::new).collect();
        for status in [DeliveryStatus::Pending, DeliveryStatus::GivenUp] {
            outbox::each(&self.engine, &self.scope, status, |delivery| {
                if let Some(record) = records.iter_mut().find(|record| record.name == delivery.receiver) {
                    record.count(delivery);
                }
            })
            .await?;
        }
        Ok(records)
    }

    /// Retries all failed deliveries to a receiver now, also those that were given up. Returns the receiver's
    /// state after that.
    ///
    /// # Errors
    /// [`Error::NotFound`] if no receiver of this owner has that name.
    pub async fn retry_receiver(&self, name: &str) -> Result<ReceiverRecord> {
        self.expect_receiver(name)?;
        let mut failed = Vec::new();
        for status in [DeliveryStatus::Pending, DeliveryStatus::GivenUp] {
            outbox::each(&self.engine, &self.scope, status, |delivery| {
                // A delivery that was not attempted yet is about to be.
                if delivery.receiver == name && delivery.attempts > 0 {
                    failed.push(delivery.id);
                }
            })
            .await?;
        }
        for id in failed {
            self.retry(id).await?;
        }
        let found = self.receivers().await?.into_iter().find(|record| record.name == name);
        found.ok_or_else(|| Error::not_found("receiver", name))
    }

    /// A page of the deliveries to a receiver, newest first, in one status or in any.
    ///
    /// # Errors
    /// [`Error::NotFound`] if no receiver of this owner has that name.
    pub async fn deliveries(
        &self,
        name: &str,
        status: Option<DeliveryStatus>,
        page: Page,
    ) -> Result<Narrowed<Delivery>> {
        self.expect_receiver(name)?;
        let filter = RecordFilter { status, page, ..RecordFilter::default() };
        self.filtered(filter, |delivery: &Delivery| delivery.receiver == name).await
    }

    /// Retries one delivery to a receiver now, also one that was given up; one that has arrived stays as it is.
    ///
    /// # Errors
    /// [`Error::NotFound`] if no receiver of this owner has that name, or no delivery to it has that id.
    pub async fn retry_delivery(&self, name: &str, id: DeliveryId) -> Result<Delivery> {
        self.expect_receiver(name)?;
        let of_receiver = |delivery: Delivery| {
            Some(delivery)
                .filter(|delivery| delivery.receiver == name)
                .ok_or_else(|| Error::not_found("delivery", id))
        };
        of_receiver(self.record(id).await?)?;
        self.retry(id).await?;
        of_receiver(self.record(id).await?)
    }

    fn expect_receiver(&self, name: &str) -> Result<()> {
        match self.own_receivers().any(|receiver| receiver.name == name) {
            true => Ok(()),
            false => Err(Error::not_found("receiver", name)),
        }
    }

    async fn retry(&self, id: DeliveryId) -> Result<()> {
        loop {
            let now = self.engine.now();
            let found = self.engine.store().versioned::<Delivery>(&self.scope, id).await?;
            let Some(Versioned { record: delivery, version }) = found else { return Ok(()) };
            if delivery.status == DeliveryStatus::Delivered {
                return Ok(());
            }
            let status = DeliveryStatus::Pending;
            let attempts_before = delivery.attempts;
            let delivery = Delivery { status, attempts_before, due: now, updated: now, ..delivery };
            let unchanged = Expect::version::<Delivery>(id, version);
            let commit = Commit::new(now).expect(unchanged).write(Write::record(&delivery)?);
            match self.engine.commit(commit).await {
                Ok(_) => {
                    self.engine.inner.outbox.hint(&delivery);
                    return Ok(());
                }
                // An attempt ended meanwhile: read what it left.
                Err(StoreError::OtherVersion { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn own_receivers(&self) -> impl Iterator<Item = &Receiver> {
        self.engine.inner.outbox.receivers().iter().filter(|receiver| receiver.owner == self.owner)
    }
}
