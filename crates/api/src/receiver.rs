//! A receiver of webhooks: without its secret and its address.

use entourage_types::{
    self as types, DeliveryId, DeliveryStatus, Occasion, QuestionId, RunId, Subject, TaskId, Time,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

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

/// A delivery to a receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// Its id, which the receiver gets as `webhook-id`.
    #[schema(value_type = schema::DeliveryId)]
    pub id: DeliveryId,
    /// The name of the receiver.
    pub receiver: String,
    /// What happened.
    #[schema(value_type = schema::Occasion)]
    pub occasion: Occasion,
    /// The task that it happened to, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TaskId>)]
    pub task: Option<TaskId>,
    /// The question that it happened to, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::QuestionId>)]
    pub question: Option<QuestionId>,
    /// The run that acted upon a message to the document agent, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::RunId>)]
    pub run: Option<RunId>,
    /// Its status.
    #[schema(value_type = schema::DeliveryStatus)]
    pub status: DeliveryStatus,
    /// How many attempts there were.
    pub attempts: u32,
    /// When the next attempt is due; when the last one was made, if no more follow.
    #[schema(value_type = schema::Time)]
    pub due: Time,
    /// Why the last attempt failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it happened.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When the delivery last changed.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<types::Delivery> for Delivery {
    fn from(delivery: types::Delivery) -> Self {
        let types::Delivery { id, receiver, occasion, subject, status, attempts, due, error, .. } = delivery;
        let (created, updated) = (delivery.created, delivery.updated);
        let (mut task, mut question, mut run) = (None, None, None);
        match subject {
            Subject::Task(about) => task = Some(about.id),
            Subject::Question(about) => question = Some(about.id),
            Subject::Act(act) => run = Some(act.run),
        }
        Self { id, receiver, occasion, task, question, run, status, attempts, due, error, created, updated }
    }
}

/// Which deliveries to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListDeliveries {
    /// Only deliveries in this status.
    #[param(value_type = Option<schema::DeliveryStatus>)]
    pub status: Option<DeliveryStatus>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}
