//! What only these tests ask of a clock.

use std::time::Duration;

use async_trait::async_trait;
use entourage_engine::Clock;
use entourage_testkit::FakeClock;
use entourage_types::Time;

pub(crate) trait FakeClockExt {
    /// Waits for a sleeper and moves the clock to the end of its sleep. Returns how far that was.
    async fn advance_to_sleeper(&self, within: Duration) -> Duration;
}

impl FakeClockExt for FakeClock {
    async fn advance_to_sleeper(&self, within: Duration) -> Duration {
        let by = self.sleeper(within).await;
        self.advance(by);
        by
    }
}

/// The clock of a machine that is this many seconds ahead of another clock, or behind it if there
/// are fewer than none.
pub(crate) struct ShiftedClock {
    pub(crate) clock: FakeClock,
    pub(crate) ahead: i64,
}

impl ShiftedClock {
    fn micros(&self) -> i64 {
        self.ahead * 1_000_000
    }
}

#[async_trait]
impl Clock for ShiftedClock {
    fn now(&self) -> Time {
        Time::from_micros(self.clock.now().micros() + self.micros())
    }

    async fn sleep_until(&self, until: Time) {
        self.clock.sleep_until(Time::from_micros(until.micros() - self.micros())).await;
    }
}
