//! What holds a run back: guardrails, limits, loop detection, addresses that only agents chose.

pub(in crate::run) mod guardrails;
pub(in crate::run) mod limits;
pub(in crate::run) mod loop_detection;
pub(in crate::run) mod taint;
