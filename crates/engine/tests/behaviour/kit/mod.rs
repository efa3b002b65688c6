//! What these tests share beside the testkit: what else they ask of a world, simulations of the whole engine,
//! and bugs for them to find.

mod clock;
mod code;
mod dice;
pub(crate) mod explorer;
mod planted;
mod planted_at_node;
mod program;
mod simulation;
mod tool;
mod world;

use entourage_engine::Kinds;
use entourage_llm::{Message, Request};
use entourage_tools::{Settings, Toolbox, builtin};
use entourage_types::{ContextPolicy, Kind, Section};

pub(crate) use clock::{FakeClockExt, ShiftedClock};
pub(crate) use code::{Code, CodeTool, Snapshots, Waits};
pub(crate) use dice::Dice;
pub(crate) use planted::{Bug, Planted};
pub(crate) use planted_at_node::PlantedAtNode;
pub(crate) use program::{WithProgram, is_worker, programmed, team, work};
pub(crate) use simulation::Simulation;
pub(crate) use tool::{Effects, TestTool};
pub(crate) use world::{Database, WorldBuilderExt, WorldExt, at_once, death_of, eventually, insist, within};

/// The built-in tools that need no setup.
#[must_use]
pub(crate) fn first_tools() -> Toolbox {
    builtin(Settings::default())
}

/// A bare kind whose model does not read the time, unless the test is about that.
#[must_use]
pub(crate) fn bare(name: impl Into<String>) -> Kind {
    let context = ContextPolicy { sections: vec![Section::Learnings], ..ContextPolicy::default() };
    Kind { context, ..Kind::bare(name) }
}

/// The kind that a text defines, whose model does not read the time, unless the test is about that.
#[must_use]
pub(crate) fn parsed(file: &str, text: &str) -> Kind {
    let (kind, findings) = entourage_engine::kinds::parse(file, text);
    let mut kind = kind.unwrap_or_else(|| panic!("{findings:?}"));
    kind.context.sections.retain(|section| *section != Section::Time);
    kind
}

/// All that a model reads beside the conversation.
#[must_use]
pub(crate) fn contexts(request: &Request) -> String {
    let texts = request.messages.iter().filter_map(|message| match message {
        Message::Context(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The conversation alone, as a model reads it.
#[must_use]
pub(crate) fn conversation(request: &Request) -> Vec<Message> {
    let spoken = |message: &&Message| !matches!(message, Message::Context(_));
    request.messages.iter().filter(spoken).cloned().collect()
}

/// An engine with one kind that may use every tool.
#[must_use]
pub(crate) fn one_kind(change: impl FnOnce(&mut Kind)) -> Kinds {
    let mut kind = Kind { instructions: "Do as asked.".into(), ..bare("assistant") };
    change(&mut kind);
    Kinds::none().with(kind)
}

/// A number that a variable of the environment gives, for tests that are run longer by hand.
#[must_use]
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}
