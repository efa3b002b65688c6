//! A world for tests: a engine with a scripted model, a clock in the test's hand, a database of its
//! own, and faults on demand. Nothing here is a mock of the engine; only its edges are replaced.
//!
//! To see whether your own tools can be trusted, put them into a [`Story`] and let it survive.

mod audit;
mod builder;
mod call_effects;
mod clock;
mod dice;
mod faults;
mod held;
mod plain;
mod planted;
mod simulation;
mod story;
mod tool;
mod witness;
mod world;

pub use audit::{Invariant, Violation, audit, well_formed};
pub use builder::WorldBuilder;
pub use call_effects::CallEffects;
pub use clock::FakeClock;
pub use dice::Dice;
pub use faults::{Fault, Faults, Faulty};
pub use held::HeldModel;
pub use plain::plain;
pub use planted::{Bug, Planted};
pub use simulation::{Outcome, Simulation};
pub use story::{Act, Points, Story, Tellings, Told};
pub use tool::{Effects, TestTool};
pub use witness::{Fact, Witness};
pub use world::{World, within};

pub use entourage_store::{Layered, StoreLayer};
