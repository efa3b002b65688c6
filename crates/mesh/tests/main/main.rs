//! Nodes with stores of their own handles and real links between them.
#![allow(clippy::unwrap_used)]

mod kit;
mod links;
mod work;
