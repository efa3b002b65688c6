//! Tests with third-party programs. `tests/services/run.sh` starts them, passes their addresses in
//! the environment, and reports clearly which are unavailable.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test ends by panicking")]

mod eval;
mod examples;
mod explorations;
mod faults;
mod goals;
mod main_job;
mod wires;

/// An engine with one kind that may use every tool.
fn one_kind(change: impl FnOnce(&mut entourage_types::Kind)) -> entourage_engine::Kinds {
    let bare = entourage_types::Kind::bare("assistant");
    let mut kind = entourage_types::Kind { instructions: "Do as asked.".into(), ..bare };
    change(&mut kind);
    entourage_engine::Kinds::none().with(kind)
}

/// The address of a service, which the script sets.
fn named(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run tests/services/run.sh, which sets it"))
}
