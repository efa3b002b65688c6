//! The public conformance suite: a dispatcher is what passes it.
