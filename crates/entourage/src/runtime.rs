//! The threads that an engine runs on.

use std::{io, thread};

use tokio::runtime::{Builder, Runtime};

/// Builds a runtime for an engine, with one worker thread fewer than there are cores, and at least one. The
/// remaining core is for the store, and agents mostly wait: on few cores, moving work between workers costs
/// more than it gains.
///
/// # Errors
/// When the system cannot start threads.
pub fn runtime() -> io::Result<Runtime> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Builder::new_multi_thread().worker_threads(cores.saturating_sub(1).max(1)).enable_all().build()
}
