//! A moment in time: microseconds since the epoch in storage, RFC 3339 in JSON.

use std::{fmt, str::FromStr, time::Duration};

use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

/// A moment in microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time(i64);

impl Time {
    /// A moment from its microseconds, as stored.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// The microseconds since the epoch, as stored.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Reads the system's clock. The engine reads its own `Clock` instead, so that tests control
    /// the time.
    #[must_use]
    pub fn now() -> Self {
        Self(Timestamp::now().as_microsecond())
    }

    /// How long after `earlier` this is; zero if it is not later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

impl std::ops::Sub<Duration> for Time {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(micros))
    }
}

impl Time {
    /// The last moment that can be written.
    pub const LAST: Self = Self(253_402_207_200_000_000);
}

impl std::ops::Add<Duration> for Time {
    type Output = Self;

    /// The moment that much later, at most the last one that can be written.
    fn add(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros).min(Self::LAST.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_microsecond(self.0) {
            Ok(timestamp) => timestamp.fmt(f),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let timestamp: Timestamp = text
            .parse()
            .map_err(|_| format!("`{text}` is not a moment in time, such as `2027-03-01T09:00:00Z`"))?;
        Ok(Self(timestamp.as_microsecond()))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Time;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a moment in time, such as `2027-03-01T09:00:00Z`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_moment_can_be_written_and_none_after_it() {
        assert!(Timestamp::from_microsecond(Time::LAST.micros() + 1).is_err());
        assert!(Time::LAST.to_string().parse::<Time>().is_ok(), "{}", Time::LAST);
    }

    #[test]
    fn a_time_is_read_from_its_text_to_the_minute_or_to_the_microsecond() {
        let midnight = Time::from_micros(1_767_225_600_000_000);
        for text in ["2026-01-01T00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00.000000+01:00"] {
            assert_eq!(text.parse(), Ok(midnight), "{text}");
        }
        let refused = [serde_json::json!("midnight"), serde_json::json!(7)]
            .map(|given| serde_json::from_value::<Time>(given).unwrap_err().to_string());
        for (said, given) in refused.iter().zip(["`midnight`", "`7`"]) {
            assert!(said.contains(given) && said.contains("such as `2027-03-01T09:00:00Z`"), "{said}");
        }
    }
}
