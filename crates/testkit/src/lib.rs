//! A world for tests: an engine with a scripted model, a clock that the test controls, a database
//! of its own, and faults on demand. Nothing here mocks the engine; only its interfaces to the
//! outside are replaced.
//!
//! To verify that your own tools are reliable, put them into a [`Story`] and call `survives`.

mod asked;
mod audit;
mod builder;
mod call_effects;
mod clock;
mod faults;
mod held;
mod lost_timers;
mod plain;
mod prefix;
mod received;
mod story;
mod witness;
mod world;

pub use asked::{Asked, texts};
pub use audit::{Violation, audit, audit_schedules};
pub use builder::{WorldBuilder, quiet};
pub use clock::FakeClock;
pub use faults::{Fault, Faults};
pub use held::HeldModel;
pub use lost_timers::LostTimers;
pub use plain::plain;
pub use story::{PersonAction, Story, StoryOutcome, crash_stride};
pub use witness::{Fact, Witness};
pub use world::{World, inexact_requests};
