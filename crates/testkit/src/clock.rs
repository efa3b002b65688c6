//! A clock that moves only when the test moves it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::Clock;
use entourage_types::Time;
use tokio::sync::{Notify, watch};

use crate::world::PATIENCE;

/// A clock that moves only when the test moves it. Clones are the same clock.
#[derive(Debug, Clone)]
pub struct FakeClock {
    now: Arc<AtomicI64>,
    /// Wakes sleepers in the order in which they went to sleep.
    moved: Arc<Notify>,
    sleepers: Arc<watch::Sender<Sleepers>>,
    slept: Arc<AtomicU64>,
}

/// Until when each current sleeper sleeps.
type Sleepers = BTreeMap<u64, Time>;

/// A sleeper, which is removed when dropped.
struct Sleeper<'c>(&'c watch::Sender<Sleepers>, u64);

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|sleepers| {
            sleepers.remove(&self.1);
        });
    }
}

impl Default for FakeClock {
    fn default() -> Self {
        // 2026-01-01T00:00:00Z
        Self {
            now: Arc::new(AtomicI64::new(1_767_225_600_000_000)),
            moved: Arc::default(),
            sleepers: Arc::new(watch::Sender::new(Sleepers::new())),
            slept: Arc::default(),
        }
    }
}

impl FakeClock {
    /// Moves the clock and wakes all that sleep until then.
    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.now.fetch_add(by, Ordering::SeqCst);
        self.moved.notify_waiters();
    }

    /// Waits until somebody sleeps whose wake-up time is at most this far ahead, and returns how far
    /// the earliest such time is: [advance](Self::advance) the clock by it to wake the sleeper.
    ///
    /// # Panics
    /// If no sleeper with so short a sleep appears while a test may wait.
    pub async fn sleeper(&self, within: Duration) -> Duration {
        let next = |sleepers: &Sleepers| {
            let now = self.now();
            sleepers.values().copied().filter(|until| now < *until && *until <= now + within).min()
        };
        let mut sleepers = self.sleepers.subscribe();
        let found =
            tokio::time::timeout(PATIENCE, sleepers.wait_for(|sleepers| next(sleepers).is_some())).await;
        let until = found.ok().and_then(|found| found.ok().and_then(|sleepers| next(&sleepers)));
        let Some(until) = until else { panic!("nobody sleeps for {within:?} or less") };
        until.since(self.now())
    }
}

#[async_trait]
impl Clock for FakeClock {
    fn now(&self) -> Time {
        Time::from_micros(self.now.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, until: Time) {
        if self.now() >= until {
            return;
        }
        let id = self.slept.fetch_add(1, Ordering::SeqCst);
        self.sleepers.send_modify(|sleepers| {
            sleepers.insert(id, until);
        });
        let _sleeper = Sleeper(&self.sleepers, id);
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
