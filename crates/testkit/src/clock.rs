//! A clock that stands still until the test moves it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_engine::Clock;
use entourage_types::Time;
use tokio::sync::watch;

/// A clock that stands still until the test moves it. Clones are the same clock.
#[derive(Debug, Clone)]
pub struct FakeClock {
    now: Arc<watch::Sender<Time>>,
}

impl Default for FakeClock {
    fn default() -> Self {
        // 2026-01-01T00:00:00Z
        Self { now: Arc::new(watch::Sender::new(Time::from_micros(1_767_225_600_000_000))) }
    }
}

impl FakeClock {
    /// Moves the clock; whoever sleeps until then wakes.
    pub fn advance(&self, by: Duration) {
        self.now.send_modify(|now| *now = *now + by);
    }
}

#[async_trait]
impl Clock for FakeClock {
    fn now(&self) -> Time {
        *self.now.borrow()
    }

    async fn sleep_until(&self, until: Time) {
        // The sender lives in `self`, so the channel cannot close under us.
        let _ = self.now.subscribe().wait_for(|now| *now >= until).await;
    }
}
