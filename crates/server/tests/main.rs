//! Tests of the crate from outside: a server on a socket, used as by any client.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on says so by ending")]

mod agencies;
mod agents;
mod auth;
mod broken;
mod chats;
mod cursors;
mod description;
mod events;
mod first;
mod forged;
mod greedy;
mod idempotency;
mod interventions;
mod isolation;
mod jobs;
mod kinds;
mod local;
mod long_reads;
mod operations;
mod pages;
mod problems;
mod questions;
mod reconnects;
mod requests;
mod site;
mod slow;
mod start;
mod stream;
mod streams;
mod unfinished;
mod usage;
mod webhooks;
mod work;
mod written;
