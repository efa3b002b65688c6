//! The threads that a house works on.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// A runtime for a house: a worker for each core. Agents mostly wait, so few workers serve many.
///
/// # Errors
/// When the system gives no threads.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build()
}
