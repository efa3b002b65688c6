//! Rules that are tests.
fn main() {}
