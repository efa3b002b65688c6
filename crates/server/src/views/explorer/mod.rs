//! The documents of the API of explorations, with the fields and terms of its design (S3).

mod entry;
mod message;
mod outcome;

pub(crate) use entry::{ExplorerAgent, ExplorerEntry};
pub(crate) use message::messages;
pub(crate) use outcome::{Done, NoAgent};
