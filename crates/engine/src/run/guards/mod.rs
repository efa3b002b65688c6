//! What holds a run back: guardrails, limits, loops, addresses that nobody gave.

pub(in crate::run) mod guardrails;
pub(in crate::run) mod invented;
pub(in crate::run) mod limits;
pub(in crate::run) mod loop_detection;
