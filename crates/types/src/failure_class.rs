//! What sort of failure a model call met.

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
