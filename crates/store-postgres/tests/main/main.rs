//! The store on PostgreSQL: the conformance suite over one and over two handles, and tests of what only this store has,
//! such as lost connections.
//!
//! They need a server, whose URL `ENTOURAGE_TEST_POSTGRES` has; `tests/services/postgres.sh start` prints one. Without it
//! they say so, and `POSTGRES=1` demands it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod commits;
mod conformance;
mod lost;
mod moving;
mod nodes;
mod opening;
mod plans;
mod proxy;
mod questions;
mod server;
