//! Work that is delegated to other agents.

pub(in crate::run) mod cancel;
pub(in crate::run) mod deadlock;
pub(in crate::run) mod delegate;
pub(in crate::run) mod order;
pub(in crate::run) mod reactivate;
