//! Questions to a person: asked by the agent, for an approval, or about a call in doubt.

pub(in crate::run) mod approve;
pub(in crate::run) mod ask;
pub(in crate::run) mod expire;
pub(in crate::run) mod reply;
