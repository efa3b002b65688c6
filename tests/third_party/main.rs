//! With programs that nobody here wrote. `tests/services/run.sh` starts them, names them in the
//! environment, and says loudly which could not be had.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test ends by panicking")]

mod eval;
mod examples;
mod faults;
mod main_job;
mod wires;

/// What a service is reached by; the script sets it.
fn named(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run tests/services/run.sh, which sets it"))
}
