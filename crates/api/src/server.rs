//! The state of the server.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of the server: its process, not its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Server {
    /// Its version.
    pub version: String,
    /// How many agents are at work and may be; null if no agents work in this process.
    #[schema(required)]
    pub places: Option<Places>,
    /// The gates before the models that were used since it started.
    pub gates: Vec<Gate>,
}

/// How many agents are at work, and how many may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Places {
    /// How many agents are at work.
    pub busy: usize,
    /// How many may be at work at once.
    pub limit: usize,
    /// How many wait for a place.
    pub ready: usize,
}

/// The gate before a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Gate {
    /// The model, as `provider::name`.
    pub model: String,
    /// `open`; `paused` while the provider wants fewer requests; `broken` while it answers none.
    pub door: String,
    /// Milliseconds until it opens; null if it is open.
    #[schema(required)]
    pub opens_in_ms: Option<u64>,
    /// How many calls are in flight.
    pub in_flight: usize,
    /// How many callers wait.
    pub waiting: usize,
    /// For how many owners it is closed because of their own calls.
    pub blocked_owners: usize,
}
