//! Logs that something that runs need is unusable for a while.

use std::time::Duration;

use entourage_types::Time;

/// How often the log repeats that the outage is not over.
const AGAIN: Duration = Duration::from_secs(60);

/// The current outage of something, if there is one.
#[derive(Debug)]
pub struct Outage {
    of: &'static str,
    reported: Option<Reported>,
}

/// Since when it is out, and when that was logged last.
#[derive(Debug)]
struct Reported {
    since: Time,
    last: Time,
}

impl Outage {
    /// No outage of this so far, which the log calls by this name.
    #[must_use]
    pub fn new(of: &'static str) -> Self {
        Self { of, reported: None }
    }

    /// Notes that it failed. Logs the first failure and then one per `AGAIN`: many agents wait, for one cause.
    /// Returns whether it was logged.
    pub fn met(&mut self, cause: &str, now: Time) -> bool {
        let of = self.of;
        match &mut self.reported {
            None => {
                tracing::error!(%cause, "{of} is unavailable; runs wait for it and then resume");
                self.reported = Some(Reported { since: now, last: now });
            }
            Some(said) if said.last + AGAIN <= now => {
                tracing::error!(%cause, since = %said.since, "{of} is still unavailable; runs wait for it");
                said.last = now;
            }
            Some(_) => return false,
        }
        true
    }

    /// Notes that it worked: the outage is over.
    pub fn over(&mut self, now: Time) {
        if let Some(said) = self.reported.take() {
            tracing::info!(since = %said.since, until = %now, "{} is available again", self.of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_logged_once_and_then_every_minute_until_it_is_over() {
        let (mut outage, begin) = (Outage::new("the disk"), Time::from_micros(0));
        let said = |outage: &mut Outage, seconds| outage.met("full", begin + Duration::from_secs(seconds));
        let all: Vec<bool> = [0, 0, 1, 59, 60, 61, 120].map(|at| said(&mut outage, at)).into();
        assert_eq!(all, [true, false, false, false, true, false, true]);
        outage.over(begin + Duration::from_secs(121));
        assert!(said(&mut outage, 122), "another one is said at once");
    }
}
