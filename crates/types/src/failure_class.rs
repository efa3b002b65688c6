//! What sort of failure a model call met, and what a run failed of.

use serde::{Deserialize, Serialize};

use crate::status::words;

words! {
    /// What sort of failure a model call met: it says how often the call is made again (S4-R110).
    FailureClass, "class of failures" {
        /// The provider limits the rate.
        RateLimit => "rate_limit",
        /// Nobody answered.
        Network => "network",
        /// Anything else.
        Other => "other",
    }
}

/// The attempts at a model call that failed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// What sort of failure the last one was.
    pub class: FailureClass,
    /// How many were made.
    pub attempts: u32,
}
