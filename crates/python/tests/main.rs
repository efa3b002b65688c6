//! What code of an agent can do, what it cannot, and what becomes of it.

mod asynchronous;
mod escapes;
mod harness;
mod limits;
mod processes;
mod records;
mod semantics;
mod snapshots;
