//! The `entourage` binary.

mod cli;

// A run allocates on one thread and frees on another; the system's allocator is slow at that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::python_worker().unwrap_or_else(cli::main)
}
