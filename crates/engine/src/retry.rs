//! When a failed model call is tried again. All figures are here.

use std::time::Duration;

use entourage_llm::Error;

/// The first attempts follow each other quickly: most hiccups are over in a moment.
const QUICK: u32 = 2;
const QUICK_DELAY: Duration = Duration::from_millis(1500);
/// Later attempts back off from here, doubling.
const BASE: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(300);
/// Delays up to this are waited out in memory; longer ones sleep on disk.
const IN_MEMORY: Duration = Duration::from_secs(2);

/// How long to wait after the `attempt`th attempt failed; none when it is not to be tried again.
pub(crate) fn delay(error: &Error, attempt: u32, max_attempts: u32) -> Option<Duration> {
    if !error.is_retryable() || attempt >= max_attempts {
        return None;
    }
    let own = if attempt <= QUICK {
        QUICK_DELAY
    } else {
        BASE.saturating_mul(1 << (attempt - QUICK - 1).min(8)).min(LONGEST)
    };
    Some(error.retry_after().map_or(own, |asked| asked.clamp(own, LONGEST)))
}

/// Whether a delay is short enough to be waited out in memory.
pub(crate) fn in_memory(delay: Duration) -> bool {
    delay <= IN_MEMORY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_are_capped_and_end() {
        let error = Error::Unavailable { model: "m".into(), cause: "500".into(), retry_after: None };
        let delays: Vec<_> = (1..8).map(|attempt| delay(&error, attempt, 7).map(|d| d.as_millis())).collect();
        assert_eq!(
            delays,
            [Some(1500), Some(1500), Some(10_000), Some(20_000), Some(40_000), Some(80_000), None]
        );
        let asked = Error::RateLimited { model: "m".into(), retry_after: Some(Duration::from_secs(7)) };
        assert_eq!(delay(&asked, 1, 4), Some(Duration::from_secs(7)));
        let refused = Error::Refused { model: "m".into(), cause: "401".into() };
        assert_eq!(delay(&refused, 1, 4), None);
    }
}
