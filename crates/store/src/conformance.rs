//! The public conformance suite: a store is what passes it.
