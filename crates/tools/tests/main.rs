//! What the first tools do, each seen from where the engine stands.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at what it did not expect")]

mod agents;
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
