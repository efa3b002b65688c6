//! What these tests share beside the testkit: what else they ask of a world, simulations of the whole engine,
//! and bugs for them to find.

mod clock;
mod dice;
mod planted;
mod planted_at_node;
mod program;
mod simulation;
mod tool;
mod world;

use entourage_engine::Kinds;
use entourage_tools::{Settings, Toolbox, builtin};
use entourage_types::Kind;

pub(crate) use clock::{FakeClockExt, ShiftedClock};
pub(crate) use dice::Dice;
pub(crate) use planted::{Bug, Planted};
pub(crate) use planted_at_node::PlantedAtNode;
pub(crate) use program::{WithProgram, programmed};
pub(crate) use simulation::Simulation;
pub(crate) use tool::{Effects, TestTool};
pub(crate) use world::{Database, WorldBuilderExt, WorldExt, at_once, death_of, eventually, insist, within};

/// The built-in tools that need no setup.
#[must_use]
pub(crate) fn first_tools() -> Toolbox {
    builtin(Settings::default())
}

/// An engine with one kind that may use every tool.
#[must_use]
pub(crate) fn one_kind(change: impl FnOnce(&mut Kind)) -> Kinds {
    let mut kind = Kind { instructions: "Do as asked.".into(), ..Kind::bare("assistant") };
    change(&mut kind);
    Kinds::none().with(kind)
}
