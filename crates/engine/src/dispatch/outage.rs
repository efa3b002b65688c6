//! Logs that the store is unusable for a while.

use std::time::Duration;

use entourage_types::Time;

/// How often the log repeats that the outage is not over.
const AGAIN: Duration = Duration::from_secs(60);

/// The current outage, if there is one: since when, and when it was logged last.
#[derive(Debug, Default)]
pub(super) struct Outage(Option<Reported>);

#[derive(Debug)]
struct Reported {
    since: Time,
    last: Time,
}

impl Outage {
    /// Notes that the store failed. Logs the first failure and then one per `AGAIN`: many agents wait, for
    /// one cause. Returns whether it was logged.
    pub(super) fn met(&mut self, cause: &str, now: Time) -> bool {
        match &mut self.0 {
            None => {
                tracing::error!(%cause, "the store is unavailable; runs wait for it and then resume");
                self.0 = Some(Reported { since: now, last: now });
            }
            Some(said) if said.last + AGAIN <= now => {
                tracing::error!(%cause, since = %said.since, "the store is still unavailable; runs wait for it");
                said.last = now;
            }
            Some(_) => return false,
        }
        true
    }

    /// Notes that an activation succeeded: the outage is over.
    pub(super) fn over(&mut self, now: Time) {
        if let Some(said) = self.0.take() {
            tracing::info!(since = %said.since, until = %now, "the store is available again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_logged_once_and_then_every_minute_until_it_is_over() {
        let (mut outage, begin) = (Outage::default(), Time::from_micros(0));
        let said = |outage: &mut Outage, seconds| outage.met("full", begin + Duration::from_secs(seconds));
        let all: Vec<bool> = [0, 0, 1, 59, 60, 61, 120].map(|at| said(&mut outage, at)).into();
        assert_eq!(all, [true, false, false, false, true, false, true]);
        outage.over(begin + Duration::from_secs(121));
        assert!(said(&mut outage, 122), "another one is said at once");
    }
}
