//! Tests with third-party programs. `tests/services/run.sh` starts them, passes their addresses in
//! the environment, and reports clearly which are unavailable.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test ends by panicking")]

mod eval;
mod examples;
mod faults;
mod main_job;
mod wires;

/// The address of a service, which the script sets.
fn named(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run tests/services/run.sh, which sets it"))
}
