//! What a run, a turn and a delegation cost in countable units; see [`entourage_benches::counts`].

use std::{alloc::System, process::ExitCode};

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> anyhow::Result<ExitCode> {
    entourage_benches::counts::run(|| {
        let stats = ALLOCATOR.stats();
        stats.allocations + stats.reallocations
    })
}
