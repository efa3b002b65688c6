//! The benchmarks, with the allocator of the engine's program.

use std::process::ExitCode;

// The program's own; the floors use it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<ExitCode> {
    entourage_benches::run()
}
