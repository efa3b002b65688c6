//! Runs code of others that may never return, or panic.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;

use crate::Clock;

/// Why foreign code gave no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoResult {
    /// It panicked.
    #[error("it crashed")]
    Crashed,
    /// It did not return in time.
    #[error("it took longer than {} s", .0.as_secs())]
    TimedOut(Duration),
}

/// The output of `work`, if it returns within this time.
///
/// # Errors
/// Why there is none.
pub(crate) async fn with_timeout<T>(
    clock: &dyn Clock,
    within: Duration,
    work: impl Future<Output = T>,
) -> Result<T, NoResult> {
    tokio::select! {
        biased;
        done = AssertUnwindSafe(work).catch_unwind() => done.map_err(|_| NoResult::Crashed),
        () = clock.sleep(within) => Err(NoResult::TimedOut(within)),
    }
}
