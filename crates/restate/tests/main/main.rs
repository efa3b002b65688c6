//! The dispatcher over a real Restate.
//!
//! `RESTATE=1` has each test start one, by `tests/services/restate.sh`. Without it they say that they did not run.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod balancer;
mod conformance;
mod engine;
mod examine;
mod loss;
mod nodes;
mod server;
mod worker;
