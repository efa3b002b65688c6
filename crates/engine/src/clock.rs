//! The engine's clock, so that tests control the time.

use std::{
    ops::Add,
    sync::OnceLock,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use entourage_types::Time;

/// Tells the time, and waits until a given time.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Time;

    /// Returns at `until` or after; at once when it has passed.
    async fn sleep_until(&self, until: Time);

    /// A reading that measures how long something takes. It is moved by no change of the machine's clock.
    fn tick(&self) -> Tick {
        Tick(Duration::from_micros(u64::try_from(self.now().micros()).unwrap_or_default()))
    }

    /// Returns once this has passed, whatever the machine's clock says meanwhile.
    async fn sleep(&self, span: Duration) {
        self.sleep_until(self.now() + span).await;
    }
}

/// A moment between which and another one lies a duration: it is no time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(Duration);

impl Tick {
    /// How long before this the other one was; nothing if it was later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The microseconds since a moment that is the same in all of a process.
    pub(crate) fn micros(self) -> u64 {
        u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX)
    }

    pub(crate) const fn from_micros(micros: u64) -> Self {
        Self(Duration::from_micros(micros))
    }
}

impl Add<Duration> for Tick {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
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

    fn tick(&self) -> Tick {
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        Tick(BEGAN.get_or_init(Instant::now).elapsed())
    }

    async fn sleep(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }
}
