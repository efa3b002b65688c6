//! Tests of the crate's public API: against servers that answer as the providers do, correctly and wrongly.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on says so by ending")]

mod choice;
mod faults;
mod gate;
mod next_action;
mod offered;
mod prices;
mod profile;
mod rehearsal;
mod replies;
mod requests;
mod secrets;
mod server;
mod wire;
