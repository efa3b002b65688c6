//! A calendar day and its hours: usage is added up by them.

use std::{fmt, str::FromStr, time::Duration};

use jiff::{Span, Timestamp, civil::Date, tz::TimeZone};
use serde::{Deserialize, Serialize};

use crate::Time;

const HOUR: Duration = Duration::from_secs(60 * 60);

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

/// An hour of a day in UTC: 0 to 23.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Hour(u8);

impl Hour {
    /// The moment at which it begins on this day.
    #[must_use]
    pub fn begins(self, day: Day) -> Time {
        day.begins() + HOUR * u32::from(self.0)
    }
}

impl TryFrom<u8> for Hour {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        if number < 24 { Ok(Self(number)) } else { Err(format!("a day has no hour {number}")) }
    }
}

impl From<Hour> for u8 {
    fn from(Hour(number): Hour) -> Self {
        number
    }
}

impl Time {
    /// The hour in UTC that contains this moment.
    #[must_use]
    pub fn hour(self) -> Hour {
        let at = Timestamp::from_microsecond(self.micros()).unwrap_or(Timestamp::UNIX_EPOCH);
        Hour(at.to_zoned(TimeZone::UTC).hour().unsigned_abs())
    }

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
    #[test]
    fn an_hour_begins_on_the_hour_in_utc() {
        let day: Day = "2026-02-28".parse().unwrap();
        let last = Time::from_micros(day.next().begins().micros() - 1);
        assert_eq!(last.hour().begins(day).to_string(), "2026-02-28T23:00:00Z");
        assert_eq!(day.begins().hour().begins(day), day.begins());
        assert_eq!(serde_json::to_string(&last.hour()).unwrap(), "23");
        assert!(serde_json::from_str::<Hour>("24").unwrap_err().to_string().contains("no hour 24"));
    }
}
