//! The Model seam: a request in, deltas on the side, one reply out.
//!
//! The house names no provider; it holds a [`Model`]. Which one stands behind it is [`choose`]'s
//! decision at start.

mod error;
mod model;
mod request;
mod scripted;

pub use error::Error;
pub use model::{Delta, Deltas, Model, NoDeltas};
pub use request::{Message, Reply, Request};
pub use scripted::{Script, ScriptedModel};

/// What every call returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;
