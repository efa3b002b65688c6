//! A calendar day: usage is added up by day.

use std::{fmt, str::FromStr};

use jiff::{Span, Timestamp, civil::Date, tz::TimeZone};
use serde::{Deserialize, Serialize};

use crate::Time;

/// A day in UTC, written `2026-11-22`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Day(Date);

impl Day {
    /// The moment at which it begins.
    #[must_use]
    pub fn begins(self) -> Time {
        let midnight = self.0.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp());
        Time::from_micros(midnight.unwrap_or(Timestamp::MIN).as_microsecond())
    }

    /// The day after; the last representable day returns itself.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.tomorrow().unwrap_or(self.0))
    }

    /// The day so many days before; the first representable day if there is none.
    #[must_use]
    pub fn before(self, days: u16) -> Self {
        Self(self.0.checked_sub(Span::new().days(i64::from(days))).unwrap_or(Date::MIN))
    }
}

impl Time {
    /// The day in UTC that contains this moment.
    #[must_use]
    pub fn day(self) -> Day {
        let at = Timestamp::from_microsecond(self.micros()).unwrap_or(Timestamp::UNIX_EPOCH);
        Day(at.to_zoned(TimeZone::UTC).date())
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

impl FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let day = text.parse().map(Self);
        day.map_err(|_| format!("`{text}` is not a day; write it as `2026-11-22`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_midnight_in_utc() {
        let day: Day = "2026-02-28".parse().unwrap();
        assert_eq!(day.next().to_string(), "2026-03-01");
        assert_eq!(day.next().before(1), day);
        let midnight = day.next().begins();
        assert_eq!(midnight.to_string(), "2026-03-01T00:00:00Z");
        assert_eq!(midnight.day(), day.next());
        assert_eq!(Time::from_micros(midnight.micros() - 1).day(), day);
        assert_eq!(serde_json::to_string(&day).unwrap(), "\"2026-02-28\"");
        assert!("yesterday".parse::<Day>().unwrap_err().contains("yesterday"));
    }
}
