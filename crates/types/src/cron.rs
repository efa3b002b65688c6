//! Times by the clocks of a place: cron expressions with a time zone.

use croner::{
    Cron as Pattern,
    parser::{CronParser, Seconds, Year},
};
use jiff::{Timestamp, tz::TimeZone};
use serde::{Deserialize, Serialize};

use crate::{Time, cron_fields};

/// The longest expression, in bytes.
const LONGEST: usize = 200;

/// Times given by a cron expression with five fields (minute, hour, day of month, month, day of week), by the clocks of
/// a time zone. A field takes `*`, values, ranges and lists of them, steps (`*/15`), and the English words of months and
/// days (`jan`, `mon`). If both the day of month and the day of week are restricted, either will do.
///
/// When clocks go forward, a time of day that does not exist comes at the moment of the change; when they go back, a time
/// of day comes once, and what recurs within the hour or by the hour comes in both hours, as in Vixie cron.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cron {
    /// The expression, such as `30 7 * * 1-5`.
    pub expression: String,
    /// The name of the time zone in the IANA database, such as `Europe/Berlin`.
    pub zone: String,
}

/// Why something is no cron expression, or not one with a time zone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// It cannot be read.
    #[error(
        "`{expression}` is no cron expression: {why}. It has the fields minute, hour, day of month, month and day of week, such \
         as `30 7 * * 1-5`"
    )]
    Expression {
        /// The expression.
        expression: String,
        /// Why not.
        why: String,
    },
    /// No moment fits it.
    #[error("`{0}` never comes")]
    Never(String),
    /// There is no such time zone.
    #[error("`{0}` is no time zone; one is named like `Europe/Berlin` or `UTC`")]
    Zone(String),
}

impl Cron {
    /// Checks an expression and a time zone.
    ///
    /// # Errors
    /// If one of them cannot be read, or the expression never comes.
    pub fn checked(expression: &str, zone: &str) -> Result<Self, CronError> {
        let cron = Self { expression: expression.trim().to_owned(), zone: zone.trim().to_owned() };
        cron.read()?;
        match cron.after(Time::from_micros(0)) {
            Some(_) => Ok(cron),
            None => Err(CronError::Never(cron.expression)),
        }
    }

    /// The first time after `at`; none if there is none, or if the machine does not know the time zone any more.
    #[must_use]
    pub fn after(&self, at: Time) -> Option<Time> {
        self.times_after(at)?.next()
    }

    /// How many times lie between two others, up to `most`.
    pub(crate) fn between(&self, after: Time, before: Time, most: usize) -> usize {
        let times = self.times_after(after).into_iter().flatten();
        times.take(most).take_while(|time| *time < before).count()
    }

    fn times_after(&self, at: Time) -> Option<impl Iterator<Item = Time>> {
        let (pattern, zone) = self.read().ok()?;
        let at = Timestamp::from_microsecond(at.micros()).ok()?.to_zoned(zone);
        Some(pattern.iter_after(at).map(|time| Time::from_micros(time.timestamp().as_microsecond())))
    }

    fn read(&self) -> Result<(Pattern, TimeZone), CronError> {
        let unreadable = |why: String| CronError::Expression { expression: self.expression.clone(), why };
        if self.expression.len() > LONGEST {
            let expression = self.expression.chars().take(20).collect::<String>() + "…";
            return Err(CronError::Expression {
                expression,
                why: format!("it has more than {LONGEST} bytes"),
            });
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        cron_fields::check(&self.expression).map_err(unreadable)?;
        // Its fields are sound, so what the parser says of them is not for who wrote them.
        let pattern =
            parser.parse(&self.expression).map_err(|_| unreadable("it cannot be read".to_owned()))?;
        let zone = TimeZone::get(&self.zone).map_err(|_| CronError::Zone(self.zone.clone()))?;
        Ok((pattern, zone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let cron = Cron::checked(expression, zone).unwrap();
        let times = cron.times_after(after.parse().unwrap()).unwrap();
        times.take(count).map(|time| time.to_string()).collect()
    }

    #[test]
    fn a_time_of_day_comes_once_a_day_also_when_clocks_change() {
        // Forward on March 28th at 02:00 in Berlin: 02:30 does not exist, and comes at 03:00.
        let forward = times("30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", 2);
        assert_eq!(forward, ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]);
        // Back on October 25th at 03:00: 02:30 is there twice, and comes the first time.
        let back = times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2);
        assert_eq!(back, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
        // At the same moment clocks stay elsewhere.
        let kathmandu = times("30 2 * * *", "Asia/Kathmandu", "2026-10-24T12:00:00Z", 2);
        assert_eq!(kathmandu, ["2026-10-24T20:45:00Z", "2026-10-25T20:45:00Z"]);
    }

    #[test]
    fn what_comes_every_hour_comes_every_hour_when_clocks_change() {
        for after in ["2027-03-27T23:30:00Z", "2026-10-24T22:30:00Z"] {
            let found = times("0 * * * *", "Europe/Berlin", after, 4);
            let seconds: Vec<i64> =
                found.iter().map(|time| time.parse::<Time>().unwrap().micros() / 1_000_000).collect();
            assert!(seconds.windows(2).all(|two| two[1] - two[0] == 3600), "{found:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_or_never_comes_is_refused_and_the_error_says_why() {
        let refused = |expression: &str, zone: &str| Cron::checked(expression, zone).unwrap_err().to_string();
        for (expression, why) in [
            ("", "it has 0 fields, not 5"),
            ("* * * *", "it has 4 fields, not 5"),
            ("0 0 * * * *", "it has 6 fields, not 5"),
            ("@daily", "it has 1 field, not 5"),
            ("61 * * * *", "the minute `61` is no number from 0 to 59"),
            ("0 -1 * * *", "the hour `-1` is no number from 0 to 23"),
            ("0 0 L * *", "the day of month `L` is no number from 1 to 31"),
            ("0 0 15W * *", "the day of month `15W` is no number"),
            ("0 0 ? * *", "the day of month `?` is no number"),
            ("0 0 * march *", "the month `march` is neither a number from 1 to 12 nor a word such as `jan`"),
            ("0 0 * * 1#2", "the day of week `1#2` is neither a number from 0 to 7 nor a word such as `sun`"),
            ("0 0 * * fri-mon", "the day of week `fri-mon` ends before it begins"),
            ("*/0 * * * *", "the step of the minute `*/0` is no number from 1 to 59"),
            ("5/10 * * * *", "the minute `5/10` has a step, which follows `*` or a range: `5-59/10`"),
            ("0,, * * * *", "the minute `` is no number"),
        ] {
            let said = refused(expression, "UTC");
            let (why, fields) =
                (format!("`{expression}` is no cron expression: {why}"), ", day of month, month and ");
            assert!(said.starts_with(&why) && said.contains(fields), "{said}");
        }
        assert!(refused(&"1,".repeat(200), "UTC").contains("more than 200 bytes"));
        assert_eq!(refused("0 0 30 2 *", "UTC"), "`0 0 30 2 *` never comes");
        assert_eq!(
            refused("0 0 * * *", "Mars/North"),
            "`Mars/North` is no time zone; one is named like `Europe/Berlin` or `UTC`"
        );
        for expression in
            ["*/15 8-18/2,20 1,15 * *", "0 7 * JAN-mar,12 Mon-fri", "59 23 31 12 7", "05 09 * * 0,sat"]
        {
            assert!(Cron::checked(expression, "UTC").is_ok(), "{expression}");
        }
        assert_eq!(times(" 0 0 29 2 * ", "UTC", "2026-11-01T00:00:00Z", 1), ["2028-02-29T00:00:00Z"]);
    }
}
