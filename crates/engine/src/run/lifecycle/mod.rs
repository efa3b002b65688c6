//! How an activation, a run and a session end.

pub(in crate::run) mod close;
pub(in crate::run) mod neglect;
pub(crate) mod session;
