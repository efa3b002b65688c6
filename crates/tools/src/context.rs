//! What a call knows about where it happens.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_types::{AgentId, CallId, Effect, Kind, Learning, Note, Owner, Session, Time};
use tokio_util::sync::CancellationToken;

use crate::Result;

/// What a call knows about where it happens.
#[derive(Clone)]
pub struct Context {
    /// The call; also the key under which an idempotent effect happens once.
    pub call: CallId,
    /// What the engine takes the call's effect for: the kind's word, otherwise the tool's own.
    pub effect: Effect,
    /// The calling agent.
    pub agent: AgentId,
    /// The top of its tree.
    pub root: AgentId,
    /// Whether it talks to a person rather than to a parent.
    pub is_root: bool,
    /// Whose agent it is.
    pub owner: Owner,
    /// Its kind.
    pub kind: Arc<Kind>,
    /// Now, on the engine's clock.
    pub now: Time,
    /// The notes of its tree.
    pub notes: Arc<dyn Notes>,
    /// What it remembers itself.
    pub memory: Arc<dyn Memory>,
    /// Cancelled when the call shall stop; dropping the call's future means the same.
    pub cancel: CancellationToken,
}

/// Reading notes: of the caller's tree, and of no other.
#[async_trait]
pub trait Notes: Send + Sync {
    /// The notes with all of these words, best match first, at most `limit`. The last word may go on.
    async fn search(&self, text: &str, limit: u32) -> Result<Vec<Note>>;

    /// The latest notes, newest first, at most `limit`.
    async fn latest(&self, limit: u32) -> Result<Vec<Note>>;
}

/// Reading what the caller remembers: its own, and nobody else's.
#[async_trait]
pub trait Memory: Send + Sync {
    /// What it has learned and still holds, oldest first.
    async fn learnings(&self) -> Result<Vec<Learning>>;

    /// Its closed sessions that were closed at `since` or after: those that match the words best, or
    /// the latest where there are no words; at most `limit`.
    async fn sessions(&self, words: &str, since: Time, limit: usize) -> Result<Vec<Session>>;

    /// The whole text of the message or output with this number in its transcript.
    async fn text(&self, item: u64) -> Result<Option<String>>;
}
