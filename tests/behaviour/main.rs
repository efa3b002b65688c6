//! What the house does, by name. One binary for all of it.

mod conversation;
mod crash;
mod delegation;
mod dispatch;
mod kill;
mod limits;
mod prefix;
mod questions;
mod retries;
mod tools;
