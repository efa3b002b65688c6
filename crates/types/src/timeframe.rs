//! How far back to look.

use crate::{Time, status::words};

/// A day in microseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000_000;

words! {
    /// How far back to look (S4-R064).
    #[derive(Default)]
    Timeframe, "timeframe" {
        /// 24 hours.
        LastDay => "last_day",
        /// Seven days.
        LastWeek => "last_week",
        /// 31 days.
        LastMonth => "last_month",
        /// 366 days.
        LastYear => "last_year",
        /// As far as there is.
        #[default]
        All => "all",
    }
}

impl Timeframe {
    /// When it begins; none if it has no beginning.
    #[must_use]
    pub const fn since(self, now: Time) -> Option<Time> {
        let days = match self {
            Self::LastDay => 1,
            Self::LastWeek => 7,
            Self::LastMonth => 31,
            Self::LastYear => 366,
            Self::All => return None,
        };
        Some(Time::from_micros(now.micros() - days * DAY))
    }
}
