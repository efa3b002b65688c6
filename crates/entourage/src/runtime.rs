//! The threads that a house works on.

use std::{io, num::NonZero, thread};

use tokio::runtime::{Builder, Runtime};

/// A runtime for a house: a worker for each core but one, which the database's writer keeps busy.
/// Agents mostly wait, so few workers serve many; with fewer of them, less is handed from one to
/// another.
///
/// # Errors
/// When the system gives no threads.
pub fn runtime() -> io::Result<Runtime> {
    let cores = thread::available_parallelism().map_or(2, NonZero::get);
    Builder::new_multi_thread().worker_threads(cores.saturating_sub(1).max(1)).enable_all().build()
}
