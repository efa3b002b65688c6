//! CPU time of this process, all threads together, and how several measurements are combined.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The CPU time used so far.
pub(crate) fn used() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The CPU milliseconds since `before`, for each of `times` equal pieces of work.
pub(crate) fn millis_each(before: Duration, times: usize) -> f64 {
    used().saturating_sub(before).as_secs_f64() * 1000.0 / times.max(1) as f64
}

/// Returns the median: a round that another process disturbed does not count.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the minimum: other processes only ever add.
pub(crate) fn least(values: Vec<f64>) -> f64 {
    values.into_iter().fold(f64::NAN, f64::min)
}
