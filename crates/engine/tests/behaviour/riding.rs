//! A turn is committed together with what follows it: with the outputs of calls that complete
//! immediately, with the intents of those that have an effect. A slower call finds its turn already
//! committed.

use std::{sync::Arc, time::Duration};

use crate::kit::{Effects, FakeClockExt, TestTool, WorldExt, bare, eventually, first_tools, one_kind};
use async_trait::async_trait;
use entourage_llm::{Script, ScriptedModel};
use entourage_store::Write;
use entourage_testkit::{Fact, Faults, HeldModel, World};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool, Toolbox};
use entourage_types::{Action, ItemBody, Kind, Limits, Owner, Status, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// The contents of each commit from the first turn on: `turn`, `output`, `intent`.
fn commits(world: &World) -> Vec<Vec<&'static str>> {
    let facts = world.witness().facts();
    let brought = facts.iter().filter_map(|fact| match fact {
        Fact::Committed(commit) => Some(commit.writes.iter().filter_map(|write| match write {
            Write::Item(item) => match &item.body {
                ItemBody::Turn(_) => Some("turn"),
                ItemBody::Output(_) => Some("output"),
                _ => None,
            },
            Write::Step(step) if step.state == entourage_types::StepState::Started => Some("intent"),
            Write::NewAgent(agent) if agent.parent.is_some() => Some("child"),
            _ => None,
        })),
        _ => None,
    });
    brought.map(Iterator::collect).filter(|brought: &Vec<_>| !brought.is_empty()).collect()
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
    assert_eq!(commits_of_one_call("look", Effect::Pure).await, [vec!["turn", "output"], vec!["turn"]]);
}

#[tokio::test]
async fn a_call_with_an_effect_commits_its_turn_and_intent_before_it_begins() {
    for effect in [Effect::Idempotent, Effect::Unsafe] {
        assert_eq!(
            commits_of_one_call("pay", effect).await,
            [vec!["turn", "intent"], vec!["output"], vec!["turn"]]
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
    assert_eq!(commits(&world), [vec!["turn", "child"], vec!["turn"], vec!["output"], vec!["turn"]]);
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
    assert_eq!(commits(&world), [vec!["turn"], vec!["output"], vec!["turn"]]);
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
    assert_eq!(commits(&world), [["turn"]], "and the turn is not asked for twice");
}

/// How many commits change a budget, while agents whose kinds have these limits try a failed call again, are paused in
/// a call and resumed, delegate, lose their process in a call, end, and are deleted.
async fn changes_of_budgets(limits: &Limits) -> usize {
    let model = ScriptedModel::new([]);
    model.push(Err(entourage_llm::Error::Unavailable {
        model: "m".into(),
        cause: "503".into(),
        retry_after: None,
    }));
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
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds.with(helper)).start().await;
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

#[tokio::test]
async fn where_no_kind_has_a_budget_no_commit_changes_one() {
    assert_eq!(changes_of_budgets(&Limits::default()).await, 0);
    let limited = Limits { max_tree_tokens: Some(1_000_000), ..Limits::default() };
    assert!(changes_of_budgets(&limited).await > 8, "where they have, calls and ends do");
}
