//! A turn is committed together with what follows it: with the outputs of calls that complete
//! immediately, with the intents of those that have an effect. A slower call finds its turn already
//! committed.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::kit::{Effects, FakeClockExt, TestTool, WorldExt, bare, eventually, first_tools, one_kind};
use async_trait::async_trait;
use entourage_engine::Budgets;
use entourage_llm::{Price, Script, ScriptedModel};
use entourage_store::{StoreLayer, Write};
use entourage_testkit::{Fact, Faults, HeldModel, World};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool, Toolbox};
use entourage_types::{Action, Cost, EntityKind, ItemBody, Kind, Limits, Owner, Status, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// What each commit of an activation brings.
fn commits(world: &World) -> Vec<Vec<&'static str>> {
    let facts = world.witness().facts();
    let brought = facts.iter().filter_map(|fact| match fact {
        Fact::Committed(commit) if commit.fence.is_some() => Some(commit.writes.iter().filter_map(brings)),
        _ => None,
    });
    brought.map(Iterator::collect).collect()
}

/// What a write brings, if that is one of the things which ride in the commits of others.
fn brings(write: &Write) -> Option<&'static str> {
    match write {
        Write::Item(item) => Some(match &item.body {
            ItemBody::Message(_) => "message",
            ItemBody::Turn(_) => "turn",
            ItemBody::Output(_) => "output",
            _ => "other item",
        }),
        Write::Step(step) if step.state == entourage_types::StepState::Started => Some("intent"),
        Write::NewAgent(_) => Some("child"),
        Write::Record(record, _) if record.kind == EntityKind::TASK => Some("task"),
        Write::Run(run) if run.ended.is_some() => Some("end"),
        Write::Run(run) if run.waiting_on.is_some() => Some("sleep"),
        _ => None,
    }
}

async fn commits_of_one_call(tool: &str, effect: Effect) -> Vec<Vec<&'static str>> {
    let model = ScriptedModel::new([Script::call(tool, json!({"n": 1})), Script::text("Done.")]);
    let tools = Toolbox::new().with(TestTool::new(tool, effect, &Effects::default()));
    let world = World::builder(model).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    commits(&world)
}

#[tokio::test]
async fn the_output_of_an_immediate_pure_call_commits_with_its_turn() {
    assert_eq!(
        commits_of_one_call("look", Effect::Pure).await,
        [vec!["message"], vec!["turn", "output"], vec!["turn", "end"]]
    );
}

#[tokio::test]
async fn a_call_with_an_effect_commits_its_turn_and_intent_before_it_begins() {
    for effect in [Effect::Idempotent, Effect::Unsafe] {
        assert_eq!(
            commits_of_one_call("pay", effect).await,
            [vec!["message"], vec!["turn", "intent"], vec!["output"], vec!["turn", "end"]]
        );
    }
}

#[tokio::test]
async fn a_new_sub_agent_commits_with_the_turn_that_delegates_to_it() {
    let model = ScriptedModel::new([
        Script::call("send_message", json!({"recipient": "researcher", "message": "Look."})),
        Script::text("Found."),
        Script::text("Done."),
    ]);
    let world = World::builder(model).tools(first_tools()).start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let expected = [
        vec!["message"],
        vec!["turn", "child", "task", "sleep"],
        vec!["message"],
        vec!["turn", "task", "end"],
        vec!["output"],
        vec!["turn", "end"],
    ];
    assert_eq!(commits(&world), expected);
}

#[tokio::test]
async fn the_commit_that_ends_a_run_consumes_its_wake_ups() {
    let world = World::builder(ScriptedModel::new([Script::text("Done.")])).start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let mut left = Vec::new();
    for fact in world.witness().facts() {
        let Fact::Committed(commit) = fact else { continue };
        for write in &commit.writes {
            match write {
                Write::ScheduleWakeup(wakeup) => left.push(wakeup.id),
                Write::ConsumeWakeup(id) => left.retain(|wakeup| wakeup != id),
                _ => {}
            }
        }
        if commit.writes.iter().any(|write| matches!(write, Write::Run(run) if run.ended.is_some())) {
            assert_eq!(left, [], "nobody is set off for a run that has ended");
            return;
        }
    }
    panic!("no commit ended the run");
}

/// A pure tool that ends when the test releases it.
struct HeldTool {
    begun: Arc<Notify>,
    let_go: Arc<Notify>,
}

#[async_trait]
impl Tool for HeldTool {
    fn name(&self) -> &str {
        "held"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let parameters = json!({"type": "object", "properties": {}});
        Some(ToolSpec::new("held", "Takes its time.", parameters))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        self.begun.notify_one();
        self.let_go.notified().await;
        Ok(Outcome::text("At last."))
    }
}

#[tokio::test]
async fn a_turn_with_a_slow_call_is_committed_while_the_call_runs() {
    let (begun, let_go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let held = HeldTool { begun: Arc::clone(&begun), let_go: Arc::clone(&let_go) };
    let model = ScriptedModel::new([Script::call("held", json!({})), Script::text("Done.")]);
    let tools = Toolbox::new().with(held);
    let world = World::builder(model).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await;
    begun.notified().await;
    // A subscriber gets the turn while the call is under way.
    let is_turn = |event: &entourage_types::Event| match &event.body {
        entourage_types::EventBody::Item { item: Some(item), .. } => matches!(item.body, ItemBody::Turn(_)),
        _ => false,
    };
    world.until(root.id, is_turn).await;
    let_go.notify_one();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(commits(&world), [vec!["message"], vec!["turn"], vec!["output"], vec!["turn", "end"]]);
}

#[tokio::test]
async fn a_pause_during_a_model_call_takes_effect_before_the_tool_call() {
    let happened = Effects::default();
    let model = entourage_testkit::HeldModel::new(ScriptedModel::new([
        Script::call("pay", json!({"n": 1})),
        Script::text("Done."),
    ]));
    let tools = Toolbox::new().with(TestTool::new("pay", Effect::Pure, &happened));
    let world = World::builder(model.clone()).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await;
    model.begun().await;
    world.client().intervene(root.id, entourage_types::Action::Pause, None).await.unwrap();
    model.let_go(1);
    world.asleep(&root).await;
    assert_eq!(happened.per_call(), [0u32; 0], "nothing begins that was not begun before the pause");
    assert_eq!(commits(&world), [["message"], ["turn"], ["sleep"]], "and the turn is not asked for twice");
}

/// How many commits change a budget, while agents whose kinds have these limits try a failed call again, are paused in
/// a call and resumed, delegate, lose their process in a call, end, and are deleted. Another kind has a budget.
async fn changes_of_budgets(limits: &Limits, budgets: Budgets) -> usize {
    let model = ScriptedModel::new([]);
    model.push(Err(entourage_llm::Error::RateLimited { model: "m".into(), retry_after: None }));
    for script in [
        Script::call("send_message", json!({"recipient": "helper", "message": "Look."})),
        Script::text("Found."),
        Script::text("Done."),
    ] {
        model.push(Ok(script));
    }
    let model = HeldModel::new(model);
    let helper = Kind { limits: limits.clone(), ..bare("helper") };
    let kinds = one_kind(|kind| (kind.limits, kind.peers) = (limits.clone(), vec!["helper".into()]));
    let kinds = kinds.with(helper).with(Kind { limits: limited(), ..bare("other") });
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds);
    let world = world.engine(move |engine| engine.budgets(budgets.clone())).start().await;
    let root = world.ask("Go.").await;
    let person = |world: &World| world.engine().client(Owner::local());
    // The first call fails, a pause comes in the second one, and the process ends in that of the helper.
    model.begun().await;
    model.let_go(1);
    world.clock().advance_to_sleeper(Duration::from_millis(1500)).await;
    model.begun().await;
    person(&world).intervene(root.id, Action::Pause, None).await.unwrap();
    model.let_go(1);
    world.asleep(&root).await;
    person(&world).intervene(root.id, Action::Resume, None).await.unwrap();
    model.begun().await;
    world.faults().kill();
    let world = world.restart(Faults::default()).await;
    model.let_go(10);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    person(&world).intervene(root.id, Action::Delete, None).await.unwrap();
    let status = async || world.client().agent(root.id).await.unwrap().status;
    eventually("it is deleted", status, |status| *status == Status::Cancelled).await;
    let facts = world.witness().facts();
    let changes = |fact: &&Fact| match fact {
        Fact::Committed(commit) => commit.writes.iter().any(|write| matches!(write, Write::Budget(_))),
        _ => false,
    };
    facts.iter().filter(changes).count()
}

fn limited() -> Limits {
    Limits { max_tree_tokens: Some(1_000_000), ..Limits::default() }
}

/// What an owner may spend in a day.
fn of_day(owner: Owner) -> Budgets {
    let owners = BTreeMap::from([(owner, Cost::from_nanos(1_000_000_000_000))]);
    let unpriced = Some(Price { input: 1.0, output: 1.0, cached: None, cache_written: None });
    Budgets { owners, unpriced, ..Budgets::default() }
}

#[tokio::test]
async fn where_neither_the_top_of_a_tree_nor_its_owner_has_a_budget_no_commit_changes_one() {
    let unlimited = Limits::default();
    assert_eq!(changes_of_budgets(&unlimited, Budgets::default()).await, 0);
    assert_eq!(changes_of_budgets(&unlimited, of_day(Owner::new("another"))).await, 0);
    assert!(changes_of_budgets(&limited(), Budgets::default()).await > 8, "where it has, calls and ends do");
    let owners = changes_of_budgets(&unlimited, of_day(Owner::local())).await;
    assert!(owners > 8, "a budget of the owner counts all trees");
}

/// Counts the calls that reach the store.
#[derive(Clone, Default)]
struct Counts(Arc<AtomicUsize>);

#[async_trait]
impl StoreLayer for Counts {
    async fn pass(&self) -> entourage_store::Result<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// How many calls reach the store while an agent and one below it work, the latter with three calls of the model. A
/// kind that neither of them is of has these limits.
async fn calls_of_the_store(other: Limits) -> usize {
    let look = || Script::call("look", json!({"n": 1}));
    let model = ScriptedModel::new([
        Script::call("send_message", json!({"recipient": "helper", "message": "Look."})),
        look(),
        look(),
        Script::text("Found."),
        Script::text("Done."),
    ]);
    let kinds = one_kind(|kind| kind.peers = vec!["helper".into()]).with(bare("helper"));
    let tools = first_tools().with(TestTool::new("look", Effect::Pure, &Effects::default()));
    let counts = Counts::default();
    let world = World::builder(model).tools(tools).kinds(kinds.with(Kind { limits: other, ..bare("other") }));
    let world = world.between(counts.clone()).dispatchers([]).start().await;
    let root = world.ask("Go.").await;
    world.engine().advance(root.id).await.unwrap();
    let tree = world.client().tree(root.id).await.unwrap();
    let before = counts.0.load(Ordering::SeqCst);
    world.engine().advance(tree[1].id).await.unwrap();
    let below = counts.0.load(Ordering::SeqCst) - before;
    world.engine().advance(root.id).await.unwrap();
    assert_eq!(world.client().agent(root.id).await.unwrap().status, Status::Succeeded);
    below
}

#[tokio::test]
async fn an_agent_below_another_reads_the_top_of_its_tree_once_to_find_that_it_has_no_budget() {
    let without = calls_of_the_store(Limits::default()).await;
    assert_eq!(calls_of_the_store(limited()).await, without + 1);
}
