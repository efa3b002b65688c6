//! Durations as people write them.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo};
use serde::{Deserialize, Deserializer, de::Error as _};

/// Parses a duration in weeks, days, hours, minutes and seconds: `90m`, `12h`, `30d`.
///
/// # Errors
/// A sentence on how to write it.
pub fn time(text: &str) -> Result<Duration, String> {
    let span: Span = text.parse().map_err(|_| {
        "write a number and a unit, and no more than a few thousand years: 90m, 12h, 30d".to_owned()
    })?;
    let time = span.to_duration(SpanRelativeTo::days_are_24_hours());
    let time = time.ok().and_then(|time| Duration::try_from(time).ok()).filter(|time| time.as_secs() > 0);
    time.ok_or_else(|| "give at least a second, in weeks, days, hours, minutes or seconds".to_owned())
}

pub(super) fn if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    time(&text).map(Some).map_err(|how| D::Error::custom(format!("this is no time: {how}")))
}
