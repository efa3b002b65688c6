//! The threads that a engine works on.

use std::{io, thread};

use tokio::runtime::{Builder, Runtime};

/// A runtime for a engine: a worker for each core but one, at least one. The one is the store's, and
/// agents mostly wait: on few cores, handing work from worker to worker costs more than it brings.
///
/// # Errors
/// When the system gives no threads.
pub fn runtime() -> io::Result<Runtime> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Builder::new_multi_thread().worker_threads(cores.saturating_sub(1).max(1)).enable_all().build()
}
