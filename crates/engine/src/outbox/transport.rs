//! The seam through which deliveries leave the engine.

use std::time::Duration;

use async_trait::async_trait;
use entourage_types::Delivery;

/// Brings one delivery to its receiver. It may be asked for the same one again.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Returns once the receiver has said that it has the delivery.
    ///
    /// # Errors
    /// Why it has not, as far as is known: it is tried again.
    async fn deliver(&self, delivery: &Delivery) -> Result<(), Undelivered>;
}

/// Why a delivery did not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// The cause, for people; it is stored, and holds nothing secret.
    pub why: String,
    /// How long the receiver wants to be left alone.
    pub retry_after: Option<Duration>,
}

impl Undelivered {
    /// A failure of which the receiver said nothing more.
    #[must_use]
    pub fn because(why: impl Into<String>) -> Self {
        Self { why: why.into(), retry_after: None }
    }
}
