//! The benchmarks, as the program runs them: with its allocator.

use std::process::ExitCode;

// The program's own; the floors have it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<ExitCode> {
    entourage_benches::run()
}
