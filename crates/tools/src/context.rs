//! The environment of a call.

use std::sync::Arc;

use entourage_types::{AgentId, CallId, Effect, Kind, Owner, Time, WorksFor};
use tokio_util::sync::CancellationToken;

use crate::{Reader, SubCallRecord};

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
    /// The agent's counterpart.
    pub works_for: WorksFor,
    /// The agent's owner.
    pub owner: Owner,
    /// The agent's kind.
    pub kind: Arc<Kind>,
    /// The current time on the engine's clock.
    pub now: Time,
    /// Reads what is stored for the caller.
    pub reader: Arc<dyn Reader>,
    /// What is on record of the calls that the code of this call has made.
    pub sub_calls: SubCallRecord,
    /// Cancelled when the call must stop; dropping the call's future means the same.
    pub cancel: CancellationToken,
}
