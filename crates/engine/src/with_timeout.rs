//! Runs code of others that may never return, or panic.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;

use crate::Clock;

/// The output of `work`, if it returns within this time.
///
/// # Errors
/// Why there is none, in a few words.
pub(crate) async fn with_timeout<T>(
    clock: &dyn Clock,
    within: Duration,
    work: impl Future<Output = T>,
) -> Result<T, String> {
    let end = clock.now() + within;
    tokio::select! {
        biased;
        done = AssertUnwindSafe(work).catch_unwind() => done.map_err(|_| "it crashed".to_owned()),
        () = clock.sleep_until(end) => Err(format!("it took longer than {} s", within.as_secs())),
    }
}
