//! Behaviour by name, across the engine. The tests are in `behaviour/`; this is what they share.

use entourage_engine::Kinds;
use entourage_tools::{Settings, Toolbox, builtin};
use entourage_types::Kind;

pub use entourage_testkit::{plain, well_formed};

/// The built-in tools that need no setup.
#[must_use]
pub fn first_tools() -> Toolbox {
    builtin(Settings::default())
}

/// An engine with one kind that may use every tool.
#[must_use]
pub fn one_kind(change: impl FnOnce(&mut Kind)) -> Kinds {
    let mut kind = Kind { instructions: "Do as asked.".into(), ..Kind::bare("assistant") };
    change(&mut kind);
    Kinds::none().with(kind)
}
