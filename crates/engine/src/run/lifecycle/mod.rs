//! How an activation, a run and a session end.

pub(in crate::run) mod close;
pub(crate) mod session;
