//! What the house does, by name. One binary for all of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test ends by panicking")]

mod approvals;
mod chat;
mod conversation;
mod crash;
mod crowd;
mod delegation;
mod deltas;
mod dispatch;
mod effects;
mod gate;
mod interventions;
mod kill;
mod kill_loop;
mod limits;
mod one_at_a_time;
mod orchestrator;
mod prefix;
mod proofs;
mod questions;
mod races;
mod receivers;
mod retention;
mod retries;
mod sessions;
mod stuck;
mod sub_agents;
mod telemetry;
mod tools;
mod upkeep;
mod usage;
mod versions;
mod webhooks;
mod window;
