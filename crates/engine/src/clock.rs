//! The engine's clock, so that tests control the time.

use std::time::Duration;

use async_trait::async_trait;
use entourage_types::Time;

/// Tells the time, and waits until a given time.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Time;

    /// Returns at `until` or after; at once when it has passed.
    async fn sleep_until(&self, until: Time);
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// The longest single sleep of a timer of the runtime, so that a change of the system's clock is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Time {
        Time::now()
    }

    async fn sleep_until(&self, until: Time) {
        loop {
            let left = until.since(self.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
        }
    }
}
