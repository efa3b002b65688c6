//! The names of the metrics that a store records, the same for every implementation.

/// How long a commit took, waiting included, until it was durable or refused. A histogram, in seconds.
pub const COMMIT: &str = "entourage_store_commit_seconds";
/// How long a read took, waiting included. A histogram, in seconds.
pub const READ: &str = "entourage_store_read_seconds";
