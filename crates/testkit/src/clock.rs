//! A clock that stands still until the test moves it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::Clock;
use entourage_types::Time;
use tokio::sync::Notify;

/// A clock that stands still until the test moves it. Clones are the same clock.
#[derive(Debug, Clone)]
pub struct FakeClock {
    now: Arc<AtomicI64>,
    /// Wakes sleepers in the order in which they lay down.
    moved: Arc<Notify>,
}

impl Default for FakeClock {
    fn default() -> Self {
        // 2026-01-01T00:00:00Z
        Self { now: Arc::new(AtomicI64::new(1_767_225_600_000_000)), moved: Arc::default() }
    }
}

impl FakeClock {
    /// Moves the clock; whoever sleeps until then wakes.
    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.now.fetch_add(by, Ordering::SeqCst);
        self.moved.notify_waiters();
    }
}

#[async_trait]
impl Clock for FakeClock {
    fn now(&self) -> Time {
        Time::from_micros(self.now.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, until: Time) {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            if self.now() >= until {
                return;
            }
            moved.await;
        }
    }
}
