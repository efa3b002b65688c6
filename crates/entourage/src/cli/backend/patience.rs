//! Waits for another command that holds the database, as long as a short command takes.

use std::time::Duration;

use entourage::Error;
use entourage_store::Error as StoreError;
use tokio::time::{Instant, sleep};

use crate::cli::{failure::Failure, globals::Globals, out};

/// The longest wait.
const LONGEST: Duration = Duration::from_secs(5);
/// A longer wait is reported.
const NOTICE_AFTER: Duration = Duration::from_secs(1);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a command has waited for another one.
pub(crate) struct Patience {
    since: Instant,
    /// Whether the wait is still to be reported.
    tells: bool,
}

impl Patience {
    /// Starts now.
    pub(crate) fn new(globals: &Globals) -> Self {
        Self { since: Instant::now(), tells: !globals.quiet }
    }

    /// Pauses before the next attempt to open the database.
    ///
    /// # Errors
    /// The error of the last attempt, unless another process has the database and there is time left.
    pub(crate) async fn wait(&mut self, error: Error) -> entourage::Result<()> {
        let waited = self.since.elapsed();
        let Error::Store(StoreError::InUse { holder, .. }) = &error else { return Err(error) };
        if waited >= LONGEST {
            return Err(error);
        }
        self.pause(holder).await;
        Ok(())
    }

    /// Pauses before the next check whether the other process is still at work.
    ///
    /// # Errors
    /// `busy`, once the time is over.
    pub(crate) async fn wait_for(&mut self, busy: Failure) -> Result<(), Failure> {
        if self.since.elapsed() >= LONGEST {
            return Err(busy);
        }
        self.pause("").await;
        Ok(())
    }

    async fn pause(&mut self, holder: &str) {
        if self.since.elapsed() >= NOTICE_AFTER && std::mem::take(&mut self.tells) {
            out::note(format!("waiting for another entourage{holder}, which works on the database"));
        }
        sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_use() -> Error {
        Error::Store(StoreError::InUse { path: "entourage.db".into(), holder: String::new() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_database_in_use_is_retried_until_the_deadline() {
        let mut patience = Patience { since: Instant::now(), tells: false };
        let (began, mut attempts) = (Instant::now(), 0);
        while patience.wait(in_use()).await.is_ok() {
            attempts += 1;
        }
        assert_eq!((attempts, began.elapsed()), (100, LONGEST));
    }

    #[tokio::test(start_paused = true)]
    async fn any_other_error_is_returned_at_once() {
        let mut patience = Patience { since: Instant::now(), tells: false };
        let began = Instant::now();
        assert!(matches!(patience.wait(Error::NoDataDirectory).await, Err(Error::NoDataDirectory)));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
