//! Calls of the model, and what they need: context, room in the window, sums of usage.

mod attempts;
pub(in crate::run) mod call;
pub(in crate::run) mod compact;
pub(in crate::run) mod context;
pub(in crate::run) mod decide;
mod form;
pub(in crate::run) mod request;
mod request_progress;
pub(in crate::run) mod reserve;
mod streamed;
pub(in crate::run) mod summarize;
pub(in crate::run) mod usage;
