//! What the engine returns, as documents of the API (`entourage-api`). What it returns in types of
//! `entourage-types`, those documents convert from themselves.

mod agency;
mod budget;
pub(crate) mod chats;
mod context;
mod delta;
mod document;
pub(crate) mod document_agent;
mod entry;
pub(crate) mod explorer;
mod find;
pub(crate) mod goals;
mod health;
mod job;
mod kind;
mod news;
mod past;
mod receiver;
mod request;
mod response;
mod server;
mod tree;
mod why;

pub(crate) use agency::{agency, thread};
pub(crate) use budget::budget;
pub(crate) use context::context;
pub(crate) use delta::delta;
pub(crate) use document::{act, document_diff, found_document};
pub(crate) use entry::{entry, posted};
pub(crate) use find::{active, asked, child, event_page, subtree};
pub(crate) use health::health_round;
pub(crate) use job::{inconsistency, job};
pub(crate) use kind::{finding, kind, kind_version, reloaded};
pub(crate) use news::news;
pub(crate) use past::{past_tree, timeline_bucket};
pub(crate) use receiver::receiver;
pub(crate) use request::request;
pub(crate) use response::{asking, ended, final_text, run_item, run_text};
pub(crate) use server::server;
pub(crate) use tree::{tree, tree_usage};
pub(crate) use why::why;
