//! The crate from outside: against servers that answer as the providers do, well and badly.
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
