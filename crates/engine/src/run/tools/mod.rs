//! Calls of tools: intents, effects and outputs.

pub(in crate::run) mod call;
pub(in crate::run) mod calls;
pub(in crate::run) mod close_calls;
pub(in crate::run) mod commit_outputs;
pub(in crate::run) mod doubt;
pub(in crate::run) mod execute;
pub(in crate::run) mod make_calls;
pub(in crate::run) mod not_made;
pub(in crate::run) mod output;
pub(in crate::run) mod output_limits;
pub(in crate::run) mod snapshots;
pub(in crate::run) mod sub_calls;
