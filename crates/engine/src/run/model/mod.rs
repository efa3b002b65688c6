//! Calls of the model, and what they need: context, room in the window, sums of usage.

pub(in crate::run) mod call;
pub(in crate::run) mod compact;
pub(in crate::run) mod context;
pub(in crate::run) mod decide;
mod heard;
pub(in crate::run) mod request;
pub(in crate::run) mod reserve;
mod streamed;
pub(in crate::run) mod summarize;
mod tries;
pub(in crate::run) mod usage;
