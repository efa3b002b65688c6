//! The trait through which deliveries leave the engine.

use std::time::Duration;

use async_trait::async_trait;
use entourage_types::Delivery;

/// Delivers to receivers. The engine may repeat a delivery.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Returns once the receiver has confirmed the delivery.
    ///
    /// # Errors
    /// Why it has not, as far as is known; the engine retries the delivery.
    async fn deliver(&self, delivery: &Delivery) -> Result<(), Undelivered>;
}

/// Why a delivery did not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// The cause, for people; it is stored, and holds nothing secret.
    pub why: String,
    /// How long the receiver asks to wait.
    pub retry_after: Option<Duration>,
}

impl Undelivered {
    /// A failure for which the receiver gave no time to wait.
    #[must_use]
    pub fn because(why: impl Into<String>) -> Self {
        Self { why: why.into(), retry_after: None }
    }
}
