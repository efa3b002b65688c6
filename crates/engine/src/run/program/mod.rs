//! What a program does itself: calls, work for new agents, joins, texts.

pub(in crate::run) mod calls;
pub(in crate::run) mod join;
mod phase;
mod place;
pub(crate) mod project;
pub(in crate::run) mod say;
pub(crate) mod say_with;
pub(in crate::run) mod settings;
pub(in crate::run) mod spawn;
mod step;
mod trigger;
