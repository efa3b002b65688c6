//! A receiver of webhooks, as the API shows it: without its secret and its address.

use entourage_engine::{FailedAttempt, ReceiverRecord};
use entourage_types::{DeliveryId, Occasion, Time};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;

/// A receiver of webhooks, and the state of its deliveries.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Receiver)]
pub(crate) struct ReceiverView {
    /// Its name in the settings.
    name: String,
    /// The events that it receives.
    #[schema(value_type = Vec<String>, example = json!(["task.completed"]))]
    events: Vec<Occasion>,
    /// How many deliveries are pending.
    pending: u64,
    /// How many deliveries were given up and are still kept.
    given_up: u64,
    /// The latest failed attempt among those; null if there is none.
    #[schema(required)]
    last_failure: Option<FailedAttemptView>,
    /// When the next attempt is due; null if there will be none.
    #[schema(required, value_type = Option<schema::Time>)]
    next_attempt: Option<Time>,
}

/// An attempt at a delivery that failed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FailedAttempt)]
struct FailedAttemptView {
    /// The delivery, by its `webhook-id`.
    #[schema(value_type = schema::DeliveryId)]
    delivery: DeliveryId,
    /// How many attempts there have been at it.
    attempts: u32,
    /// When it failed.
    #[schema(value_type = schema::Time)]
    at: Time,
    /// Why it failed.
    error: String,
}

impl From<ReceiverRecord> for ReceiverView {
    fn from(record: ReceiverRecord) -> Self {
        let ReceiverRecord { name, events, pending, given_up, last_failure, next_attempt } = record;
        let last_failure = last_failure.map(|failed| {
            let FailedAttempt { delivery, attempts, at, error } = failed;
            FailedAttemptView { delivery, attempts, at, error }
        });
        Self { name, events, pending, given_up, last_failure, next_attempt }
    }
}
