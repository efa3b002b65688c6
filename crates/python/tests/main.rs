//! What code of an agent can do, what it cannot, and what becomes of it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at what it did not expect")]

mod asynchronous;
mod cpython;
mod crafted;
mod escapes;
mod harness;
mod limits;
mod processes;
mod records;
mod semantics;
mod snapshots;
mod tool;
