//! What code of an agent can do, what it cannot, and what becomes of it.

mod asynchronous;
mod harness;
mod records;
mod semantics;
