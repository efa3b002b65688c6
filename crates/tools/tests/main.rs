//! Tests of the built-in tools through their public API, as the engine uses them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at what it did not expect")]

mod agents;
mod documents;
mod everything;
mod fetch;
mod files;
mod history;
mod learnings;
mod mcp;
mod mcp_http;
mod notes;
mod offers;
mod search;
mod support;
