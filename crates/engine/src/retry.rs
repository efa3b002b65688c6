//! What follows a failed model call: another attempt, soon or later, a request to the next declared model, or
//! a failure. All numbers of this policy are here, by the class of the error.

use std::time::Duration;

use entourage_llm::Error;
use entourage_types::{AgentId, Backoff, FailureClass};

/// How often a call that failed is tried again, by what it failed of.
struct Retries {
    /// So many are made first, each after [`QUICK`] within the call: a limit of the rate is often over in a moment.
    quick: u32,
    /// So many follow, each after a delay of [`LATER`].
    later: u32,
}

/// The provider limits the rate.
const RATE_LIMIT: Retries = Retries { quick: 2, later: 5 };
/// Nobody answered: no address, no connection, one that was cut before an answer began, or silence.
const NETWORK: Retries = Retries { quick: 0, later: 3 };
/// Somebody answered that it failed, or gave an answer that is of no use.
const OTHER: Retries = Retries { quick: 0, later: 2 };

const QUICK: Duration = Duration::from_millis(1500);
const LATER: Backoff = Backoff::new(Duration::from_secs(10), LONGEST);
const LONGEST: Duration = Duration::from_secs(300);
/// The delays of calls for which the reservations of other calls leave no room.
const OTHERS: Backoff = Backoff::new(Duration::from_secs(2), Duration::from_secs(30));
/// Later retries are spread over so many milliseconds, so that agents that failed together do not retry
/// together.
const JITTER: u64 = 2000;
/// Delays up to this are waited out in memory; longer ones sleep on disk.
const IN_MEMORY: Duration = Duration::from_secs(2);
/// A run does not wait for a pause longer than this if it may ask another model.
const WORTH_WAITING: Duration = Duration::from_secs(10);

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Ask the same model again after this time.
    Again(Duration),
    /// Do not ask this model again.
    Over,
}

/// Returns the pause that a model asks for with its failure, at most the longest.
fn pause(error: &Error) -> Option<Duration> {
    error.retry_after().map(|asked| asked.min(LONGEST))
}

/// Returns the pause that a model asks for, if a run that may ask another one does not wait for it.
pub(crate) fn long_pause(error: &Error) -> Option<Duration> {
    pause(error).filter(|pause| *pause > WORTH_WAITING)
}

/// Returns what follows when `agent`'s attempt at one model, the `attempt`th counted from 1, failed.
pub(crate) fn next(error: &Error, attempt: u32, max_attempts: u32, agent: AgentId) -> Next {
    if let Error::Busy { after, .. } = error {
        // Agents that got the same time do not retry at the same moment.
        return Next::Again((*after).min(LONGEST) + jitter(agent, attempt));
    }
    let Retries { quick, later } = retries(error);
    if attempt >= max_attempts.min(1 + quick + later) {
        return Next::Over;
    }
    let own = if attempt <= quick { QUICK } else { LATER.after(attempt - quick) };
    let delay = pause(error).map_or(own, |asked| asked.max(own)).min(LONGEST);
    Next::Again(if in_memory(delay) { delay } else { (delay + jitter(agent, attempt)).min(LONGEST) })
}

/// Returns how often a call with this error is tried again. The attempts before, whatever they failed of, count.
const fn retries(error: &Error) -> Retries {
    match class(error) {
        FailureClass::RateLimit => RATE_LIMIT,
        FailureClass::Network => NETWORK,
        FailureClass::Other if error.is_retryable() => OTHER,
        FailureClass::Other => Retries { quick: 0, later: 0 },
    }
}

/// What sort of failure an error is.
pub(crate) const fn class(error: &Error) -> FailureClass {
    match error {
        Error::RateLimited { .. } => FailureClass::RateLimit,
        Error::Unreachable { .. } | Error::TimedOut { .. } => FailureClass::Network,
        _ => FailureClass::Other,
    }
}

/// How long a call waits that was put off so many times before because other calls left no room in a budget.
pub(crate) fn put_off(agent: AgentId, times: u32) -> Duration {
    OTHERS.after(times + 1) + jitter(agent, times)
}

/// Whether a delay is short enough to be waited out in memory.
pub(crate) fn in_memory(delay: Duration) -> bool {
    delay <= IN_MEMORY
}

/// A jitter from 0 to `JITTER` milliseconds: the same for the same agent and attempt, spread over all others.
fn jitter(agent: AgentId, attempt: u32) -> Duration {
    // The high bits of FNV-1a: its low bits are similar for similar inputs.
    let bytes = agent.to_string().into_bytes().into_iter().chain(attempt.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Duration::from_millis((hash >> 32) % (JITTER + 1))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn unavailable(retry_after: Option<Duration>) -> Error {
        Error::Unavailable { model: "m".into(), cause: "500".into(), retry_after }
    }

    /// The delays in seconds, without their jitter, up to the last retry.
    fn delays(error: &Error, max_attempts: u32) -> Vec<f64> {
        let agent = AgentId::new();
        (1..20)
            .map_while(|attempt| match next(error, attempt, max_attempts, agent) {
                Next::Again(delay) if in_memory(delay) => Some(delay.as_secs_f64()),
                Next::Again(delay) if delay == LONGEST => Some(delay.as_secs_f64()),
                Next::Again(delay) => Some((delay - jitter(agent, attempt)).as_secs_f64()),
                Next::Over => None,
            })
            .collect()
    }

    /// Shows: S1-R070, S4-R105, S4-R106, S4-R110, S4-R112.
    #[test]
    fn the_delays_and_number_of_retries_depend_on_the_error() {
        let model = || String::from("m");
        let limited = Error::RateLimited { model: model(), retry_after: None };
        assert_eq!(delays(&limited, 100), [1.5, 1.5, 10.0, 20.0, 40.0, 80.0, 160.0]);
        let silent = Error::TimedOut { model: model(), after: QUICK };
        let [cut, nobody] =
            [true, false].map(|sent| Error::Unreachable { model: model(), cause: "reset".into(), sent });
        for network in [silent, cut, nobody] {
            assert_eq!(delays(&network, 100), [10.0, 20.0, 40.0], "{network}");
        }
        let bad = Error::BadAnswer { model: model(), what: "cut off".into() };
        for other in [unavailable(None), bad, Error::Empty { model: model() }] {
            assert_eq!(delays(&other, 100), [10.0, 20.0], "{other}");
        }
        assert_eq!(delays(&limited, 3), [1.5, 1.5], "a kind may want fewer");
        assert_eq!(delays(&unavailable(None), 2), [10.0]);
        let refused = Error::Refused { model: model(), cause: "400".into() };
        assert_eq!(delays(&refused, 100), [0.0; 0]);
    }

    /// Shows: S4-R114.
    #[test]
    fn the_retry_after_of_a_provider_is_kept_within_bounds() {
        let asked = |seconds| {
            let retry_after = Some(Duration::from_secs(seconds));
            delays(&Error::RateLimited { model: "m".into(), retry_after }, 100)[..3].to_vec()
        };
        assert_eq!(asked(1), [1.5, 1.5, 10.0]);
        assert_eq!(asked(7), [7.0, 7.0, 10.0]);
        assert_eq!(asked(15), [15.0, 15.0, 15.0]);
        assert_eq!(asked(3600), [300.0, 300.0, 300.0]);
    }

    /// Shows: S4-R114.
    #[test]
    fn jitter_spreads_the_retries_of_agents_that_failed_together() {
        let spread: HashSet<_> = (0..50).map(|_| jitter(AgentId::new(), 3)).collect();
        assert!(spread.len() > 25, "{spread:?}");
        assert!(spread.iter().all(|jitter| *jitter <= Duration::from_millis(JITTER)));
        let agent = AgentId::new();
        assert_eq!(jitter(agent, 3), jitter(agent, 3));
    }

    #[test]
    fn a_long_pause_goes_to_another_model_and_a_short_one_is_waited_out() {
        let agent = AgentId::new();
        let busy = |seconds| Error::Busy { model: "m".into(), after: Duration::from_secs(seconds) };
        assert_eq!(long_pause(&busy(11)), Some(Duration::from_secs(11)));
        assert_eq!(long_pause(&busy(10)), None);
        assert!(matches!(next(&busy(11), 1, 8, agent), Next::Again(_)), "where there is no other");
        assert!(matches!(next(&busy(1), 100, 8, agent), Next::Again(_)), "it is no attempt");
        assert_eq!(long_pause(&unavailable(Some(Duration::from_secs(30)))), Some(Duration::from_secs(30)));
        assert_eq!(
            (long_pause(&unavailable(None)), next(&unavailable(None), 3, 8, agent)),
            (None, Next::Over)
        );
        assert_eq!(long_pause(&unavailable(Some(Duration::from_secs(86_400)))), Some(LONGEST));
    }
}
