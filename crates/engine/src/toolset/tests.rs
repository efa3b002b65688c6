//! Offers are built once, and hold what the kind and the position allow.

use std::sync::{LazyLock, Weak};

use async_trait::async_trait;
use entourage_tools::{Context, Outcome, ReadOutput, Result as ToolResult};
use entourage_types::Switch;
use serde_json::json;

use super::*;

const TOP: Position =
    Position { works_for: WorksFor::Person, has_sessions: false, has_cuts: false, by_program: false };

/// An owner without servers of its own and without switches.
fn holder() -> Holder<'static> {
    static LOCAL: LazyLock<(Owner, Switches)> = LazyLock::new(|| (Owner::local(), Switches::default()));
    Holder { owner: &LOCAL.0, switches: &LOCAL.1, servers: &[] }
}

/// A tool during whose first offer the kinds change.
#[derive(Default)]
struct Changing(Mutex<Weak<Toolsets>>);

#[async_trait]
impl Tool for Changing {
    fn name(&self) -> &'static str {
        "changing"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        if let Some(offers) = std::mem::take(&mut *self.0.lock().unwrap()).upgrade() {
            offers.forget();
        }
        Some(ToolSpec::new("changing", "", json!({})))
    }

    async fn call(&self, _: &Context, _: Value) -> ToolResult<Outcome> {
        Err(ToolError::Failed("it is never called".into()))
    }
}

#[test]
fn a_toolset_is_not_kept_if_the_kinds_change_while_it_is_built() {
    let (tool, kind) = (Arc::new(Changing::default()), Arc::new(Kind::bare("a")));
    let offers = Arc::new(Toolsets::new(Toolbox::new(), ToolsOfPrograms::default()));
    assert!(offers.add(vec![Arc::<Changing>::clone(&tool)]).is_empty());
    *tool.0.lock().unwrap() = Arc::downgrade(&offers);
    let mut asked = 0;
    for expected in [1, 2, 2] {
        let offer = offers.of(&kind, TOP, &holder(), || {
            asked += 1;
            (Arc::new(Kinds::none()), Vec::new())
        });
        assert!(offer.has("changing"));
        assert_eq!(asked, expected);
    }
}

/// A tool that the engine knows by another name than the model, as a library's agents have them.
struct Own;

#[async_trait]
impl Tool for Own {
    fn name(&self) -> &'static str {
        "cashier/pay"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("pay", "", json!({})))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, _: Value) -> ToolResult<Outcome> {
        Err(ToolError::Failed("it is never called".into()))
    }
}

#[test]
fn a_kind_declares_the_effect_of_a_tool_by_the_name_that_the_model_uses() {
    let mut kind = Kind { tools: Some(vec!["cashier/pay".into()]), ..Kind::bare("a") };
    kind.effects.r#unsafe = vec!["pay".into()];
    let offers = Toolsets::new(Toolbox::new(), ToolsOfPrograms::default());
    assert!(offers.add(vec![Arc::new(Own)]).is_empty());
    let none = || (Arc::new(Kinds::none()), Vec::new());
    let offer = offers.of(&Arc::new(kind), TOP, &holder(), none);
    assert_eq!(offer.effect("pay"), Some(Effect::Unsafe));
}

#[test]
fn an_offer_says_where_the_results_of_each_tool_come_from() {
    let offers = Toolsets::new(Toolbox::new(), ToolsOfPrograms::default());
    assert!(offers.add(vec![Arc::new(ReadOutput), Arc::new(Own)]).is_empty());
    let kind = Kind { tools: Some(vec!["cashier/pay".into()]), ..Kind::bare("a") };
    let none = || (Arc::new(Kinds::none()), Vec::new());
    let offer = offers.of(&Arc::new(kind), TOP, &holder(), none);
    let sources: Vec<_> = offer.specs.iter().map(|spec| (spec.name.as_str(), spec.source)).collect();
    assert_eq!(sources, [("pay", ResultSource::Private), ("read_output", ResultSource::Agents)]);
}

#[test]
fn what_reads_on_is_offered_from_the_start_where_that_keeps_a_prefix() {
    let offers = Toolsets::new(Toolbox::new(), ToolsOfPrograms::default());
    assert!(offers.add(vec![Arc::new(ReadOutput), Arc::new(Own)]).is_empty());
    let reads_on = |tools: &[&str], messages: Option<u32>, has_cuts: bool| {
        let mut kind =
            Kind { tools: Some(tools.iter().map(ToString::to_string).collect()), ..Kind::bare("a") };
        kind.context.messages = messages;
        kind.version = format!("{tools:?} {messages:?}");
        let none = || (Arc::new(Kinds::none()), Vec::new());
        offers.of(&Arc::new(kind), Position { has_cuts, ..TOP }, &holder(), none).has("read_output")
    };
    let own = ["cashier/pay"];
    assert_eq!([reads_on(&own, None, false), reads_on(&own, Some(10), false)], [true, false]);
    assert_eq!([reads_on(&[], None, false), reads_on(&["mcp__bank"], None, false)], [false, false]);
    assert_eq!([reads_on(&[], None, true), reads_on(&own, Some(10), true)], [true, true]);
}

#[test]
fn a_toolset_is_built_once_until_it_is_forgotten() {
    let (offers, kind) =
        (Toolsets::new(Toolbox::new(), ToolsOfPrograms::default()), Arc::new(Kind::bare("a")));
    let mut asked = 0;
    for expected in [1, 1, 2] {
        if expected == 2 {
            offers.forget();
        }
        offers.of(&kind, TOP, &holder(), || {
            asked += 1;
            assert!(offers.made.try_lock().is_err(), "what replaces the kinds comes before, or after");
            (Arc::new(Kinds::none()), Vec::new())
        });
        assert_eq!(asked, expected);
    }
}

/// Whoever switches single tools on and off again and again does not fill the memory: the offers that were used last stay.
#[test]
fn the_offers_for_many_different_switches_are_bounded() {
    let (offers, kind) =
        (Toolsets::new(Toolbox::new(), ToolsOfPrograms::default()), Arc::new(Kind::bare("a")));
    let owner = Owner::local();
    let is_built = |number: usize| {
        let mut switches = Switches::default();
        switches.set(&format!("bank__{number}"), Some(Switch::Off));
        let mut is_built = false;
        offers.of(&kind, TOP, &Holder { owner: &owner, switches: &switches, servers: &[] }, || {
            is_built = true;
            (Arc::new(Kinds::none()), Vec::new())
        });
        is_built
    };
    for number in 0..300 {
        assert!(is_built(number), "each has its own");
    }
    assert_eq!(offers.made().offers.len(), MOST_OFFERS.get());
    assert!(!is_built(299) && is_built(0));
}
