//! How long to wait before another attempt.

use std::time::Duration;

/// An exponential backoff: the delay doubles with each failure in a row, up to the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// A backoff that begins with `first`, and never exceeds `longest`.
    #[must_use]
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// The delay after so many failures in a row. One failure, or none, gives the first delay.
    #[must_use]
    pub fn after(self, failures: u32) -> Duration {
        let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(doubled).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_up_to_the_maximum() {
        let backoff = Backoff::new(Duration::from_secs(5), Duration::from_secs(60));
        let after =
            [0, 1, 2, 3, 4, 5, 31, 32, 33, u32::MAX].map(|failures| backoff.after(failures).as_secs());
        assert_eq!(after, [5, 5, 10, 20, 40, 60, 60, 60, 60, 60]);
    }
}
