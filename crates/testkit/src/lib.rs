//! A world for tests: a house with a scripted model, a clock in the test's hand, a database of its
//! own, and faults on demand. Nothing here is a mock of the house; only its edges are replaced.

mod clock;
mod faults;
mod held;
mod tool;
mod world;

pub use clock::FakeClock;
pub use faults::{Fault, Faults, Faulty};
pub use held::HeldModel;
pub use tool::{Effects, TestTool};
pub use world::{World, WorldBuilder};
