//! The embedded store.

mod smoke;
