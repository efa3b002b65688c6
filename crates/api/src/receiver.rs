//! A receiver of webhooks: without its secret and its address.

use entourage_types::{DeliveryId, Occasion, Time};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// A receiver of webhooks, and the state of its deliveries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Receiver {
    /// Its name in the settings.
    pub name: String,
    /// The events that it receives.
    #[schema(value_type = Vec<schema::Occasion>)]
    pub events: Vec<Occasion>,
    /// How many deliveries are pending.
    pub pending: u64,
    /// How many deliveries were given up and are still kept.
    pub given_up: u64,
    /// The latest failed attempt among those; null if there is none.
    #[schema(required)]
    pub last_failure: Option<FailedAttempt>,
    /// When the next attempt is due; null if there will be none.
    #[schema(required, value_type = Option<schema::Time>)]
    pub next_attempt: Option<Time>,
}

/// An attempt at a delivery that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailedAttempt {
    /// The delivery, by its `webhook-id`.
    #[schema(value_type = schema::DeliveryId)]
    pub delivery: DeliveryId,
    /// How many attempts there have been at it.
    pub attempts: u32,
    /// When it failed.
    #[schema(value_type = schema::Time)]
    pub at: Time,
    /// Why it failed.
    pub error: String,
}
