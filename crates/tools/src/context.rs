//! The environment of a call.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_types::{AgentId, CallId, Effect, Kind, Learning, Note, Owner, Session, Time};
use tokio_util::sync::CancellationToken;

use crate::Result;

/// The environment of a call.
#[derive(Clone)]
pub struct Context {
    /// The call's id; also the key that makes an idempotent effect happen once.
    pub call: CallId,
    /// The effect that the engine assumes for the call: the one declared by the kind, else the tool's own.
    pub effect: Effect,
    /// The calling agent.
    pub agent: AgentId,
    /// The root of the agent's tree.
    pub root: AgentId,
    /// Whether the agent talks to a person rather than to a parent.
    pub is_root: bool,
    /// The agent's owner.
    pub owner: Owner,
    /// The agent's kind.
    pub kind: Arc<Kind>,
    /// The current time on the engine's clock.
    pub now: Time,
    /// The notes of the agent's tree.
    pub notes: Arc<dyn Notes>,
    /// The agent's own memory.
    pub memory: Arc<dyn Memory>,
    /// Cancelled when the call must stop; dropping the call's future means the same.
    pub cancel: CancellationToken,
}

/// Reads the notes of the caller's tree, and of no other.
#[async_trait]
pub trait Notes: Send + Sync {
    /// Returns the notes that contain all of these words, best match first, at most `limit`. The last word
    /// may be a prefix.
    async fn search(&self, text: &str, limit: u32) -> Result<Vec<Note>>;

    /// Returns the latest notes, newest first, at most `limit`.
    async fn latest(&self, limit: u32) -> Result<Vec<Note>>;
}

/// Reads the memory of the caller, and of no other agent.
#[async_trait]
pub trait Memory: Send + Sync {
    /// Returns its learnings that are not retired, oldest first.
    async fn learnings(&self) -> Result<Vec<Learning>>;

    /// Returns its sessions that were closed at `since` or later: the best matches for the words, or the
    /// latest if there are no words; at most `limit`.
    async fn sessions(&self, words: &str, since: Time, limit: usize) -> Result<Vec<Session>>;

    /// Returns the whole text of the message or output with this number in its transcript.
    async fn text(&self, item: u64) -> Result<Option<String>>;
}
