//! Agents that wait for room in a budget: who goes on once the kinds or the settings allow more, and who sleeps on.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use entourage_engine::{Budgets, Builder, Cause, Clock, Kinds, NewAgent};
use entourage_testkit::{Faults, HeldModel, World, WorldBuilder};
use entourage_types::{Agent, Amount, Cost, Kind, Limits, Owner, Status, Time, Wakeup};
use futures::FutureExt;

use crate::{
    budgets::{FEW, answering, asleep_over_budget, dollars, joins_few, lacking, person, team_within},
    kit::{Database, WithProgram, at_once, bare, eventually, one_kind},
};

/// A world whose kinds are read anew with each reload.
fn reading(world: WorldBuilder, kinds: impl Fn() -> Kinds + Clone + Send + Sync + 'static) -> WorldBuilder {
    world.engine(move |engine: Builder| {
        let read = kinds.clone();
        engine.kinds(kinds()).kinds_from(Arc::new(move || Ok((read(), Vec::new()))))
    })
}

/// The row of an agent, which counts how often it was claimed, and what will wake it.
async fn undisturbed(world: &World, agent: &Agent) -> (Agent, Vec<Wakeup>) {
    let mut wakeups = world.store().due(Time::LAST, None, 100).await.unwrap();
    wakeups.retain(|wakeup| wakeup.agent == agent.id);
    (world.client().agent(agent.id).await.unwrap(), wakeups)
}

/// Begins what an engine does beside its agents. At first it looks at those that wait: another look waits for that.
fn begin_to_keep_up(world: &World) {
    let engine = world.engine().clone();
    let mut keeping_up = Box::pin(async move { engine.keep_up().await });
    assert_eq!(keeping_up.as_mut().now_or_never(), None);
    tokio::spawn(keeping_up);
}

/// No time passes: it does not wait for its next look, and nothing is written for one without room.
#[tokio::test]
async fn a_start_with_a_larger_budget_of_the_day_wakes_who_waits_for_it() {
    let allowed = Arc::new(Mutex::new(dollars("$0.0001")));
    let by_settings = Arc::clone(&allowed);
    let with_budget = move |engine: Builder| {
        let per_owner_per_day = Some(*by_settings.lock().unwrap());
        engine.budgets(Budgets { per_owner_per_day, ..Budgets::default() })
    };
    let world = World::builder(answering()).kinds(one_kind(|_| {})).engine(with_budget).start().await;
    let root = world.ask("Go.").await;
    asleep_over_budget(&world, &root).await;
    let before = undisturbed(&world, &root).await;
    let world = world.restart(Faults::default()).await;
    begin_to_keep_up(&world);
    world.engine().wake_where_room().await;
    asleep_over_budget(&world, &root).await;
    assert_eq!(undisturbed(&world, &root).await, before);
    *allowed.lock().unwrap() = dollars("$1");
    let world = world.restart(Faults::default()).await;
    begin_to_keep_up(&world);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let today = world.client().budget_today().await.unwrap().unwrap().budget;
    assert_eq!((today.spent.cost, today.reserved), (dollars("$0.0003"), Amount::default()));
    assert_eq!(world.audit().await, []);
}

/// Likewise for a tree; another one, of which the files allow no more than before, sleeps on.
#[tokio::test]
async fn a_reload_of_a_kind_that_allows_more_wakes_who_waits_for_that() {
    let is_raised = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&is_raised);
    let kinds = move || {
        let of = |budget| Limits {
            max_tree_cost: Some(dollars(budget)),
            max_answer_tokens: Some(100),
            ..Limits::default()
        };
        let budget = if raised.load(Ordering::Relaxed) { "$1" } else { "$0.0001" };
        let other = Kind { limits: of("$0.0001"), ..bare("other") };
        one_kind(|kind| kind.limits = of(budget)).with(other)
    };
    let world = reading(World::builder(answering()), kinds).start().await;
    let new = |kind: &str| NewAgent {
        kind: Some(kind.to_owned()),
        message: Some("Go.".into()),
        ..NewAgent::default()
    };
    let other = person(&world).create(new("other"), None).await.unwrap();
    asleep_over_budget(&world, &other).await;
    let asleep = undisturbed(&world, &other).await;
    let root = person(&world).create(new("assistant"), None).await.unwrap();
    asleep_over_budget(&world, &root).await;
    is_raised.store(true, Ordering::Relaxed);
    assert_eq!(world.engine().reload().await.unwrap().changed, ["assistant"]);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let spent = world.client().budgets(root.id).await.unwrap().remove(0).budget.spent;
    assert_eq!(spent.cost, dollars("$0.0003"));
    asleep_over_budget(&world, &other).await;
    assert_eq!(undisturbed(&world, &other).await, asleep);
    assert_eq!(world.audit().await, []);
}

/// Who wakes and finds no room writes: where many wait for little, most would do so for nothing.
#[tokio::test]
async fn as_many_go_on_as_there_is_room_for_and_the_others_sleep_on() {
    let allowed = Arc::new(Mutex::new(dollars("$0.0001")));
    let read = Arc::clone(&allowed);
    let world = World::builder(answering()).dispatchers(at_once(FEW as usize + 1)).program(&[], joins_few);
    let world = reading(world, move || team_within(*read.lock().unwrap())).start().await;
    let root = world.ask("Go.").await;
    let workers = async || {
        let mut tree = world.client().tree(root.id).await.unwrap();
        tree.retain(|agent| agent.id != root.id);
        tree
    };
    let lack = async || lacking(&world, &workers().await).await;
    eventually("all lack room", lack, |lacking| *lacking == FEW as usize).await;
    let (mut asleep, mut needed) = (Vec::new(), Cost::default());
    for worker in workers().await {
        let why = world.client().why(worker.id).await.unwrap();
        let Cause::Budget { shortage, .. } = why.cause() else { panic!("{why:?}") };
        needed = needed.max(shortage.needed().cost);
        asleep.push(undisturbed(&world, &worker).await);
    }
    // Room for the most that two calls can use.
    *allowed.lock().unwrap() = Cost::from_nanos(needed.nanos() * 2 + 1);
    world.engine().reload().await.unwrap();
    let have_ended = async || {
        let workers = workers().await;
        workers.into_iter().filter(|worker| worker.status == Status::Succeeded).map(|worker| worker.id)
    };
    let ended = eventually(
        "two have gone on",
        async || have_ended().await.collect::<Vec<_>>(),
        |ended| ended.len() >= 2,
    );
    let ended = ended.await;
    asleep.retain(|(worker, _)| !ended.contains(&worker.id));
    assert_eq!(asleep.len(), FEW as usize - 2);
    for before in asleep {
        assert_eq!(undisturbed(&world, &before.0).await, before);
    }
    let spent = world.client().budgets(root.id).await.unwrap().remove(0).budget.spent;
    assert_eq!(spent.cost, dollars("$0.0006"));
}

#[tokio::test]
async fn an_agent_whose_steps_cannot_be_read_keeps_no_other_from_going_on() {
    let database = Database::new();
    let is_raised = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&is_raised);
    let kinds = move || {
        let tokens = if raised.load(Ordering::Relaxed) { 100_000 } else { 10 };
        one_kind(|kind| kind.limits.max_tree_tokens = Some(tokens))
    };
    let world = reading(World::builder(answering()).store(database.open()), kinds).start().await;
    let [broken, whole] = [world.ask("Go.").await, world.ask("Go.").await];
    for root in [&broken, &whole] {
        asleep_over_budget(&world, root).await;
    }
    let before = undisturbed(&world, &broken).await;
    let run = world.client().runs(broken.id, entourage_store::Page::default()).await.unwrap().remove(0).id;
    database.execute(&format!("UPDATE steps SET value = 'nothing' WHERE run = '{run}'"));
    is_raised.store(true, Ordering::Relaxed);
    world.engine().reload().await.unwrap();
    assert_eq!(world.ended(whole.id).await.status, Status::Succeeded);
    assert_eq!(undisturbed(&world, &broken).await, before);
}

/// The model of agents of which one sleeps although the budget of the day has room for it again: the call that took
/// the room has ended, and it has not looked since.
async fn with_room(kinds: impl Fn() -> Kinds + Clone + Send + Sync + 'static) -> (World, HeldModel, Agent) {
    let model = HeldModel::new(answering());
    // Room for one call of 8,192 tokens in the answer, and no other beside it.
    let budgets = Budgets { per_owner_per_day: Some(dollars("$0.0150")), ..Budgets::default() };
    let world = World::builder(model.clone()).engine(move |engine| engine.budgets(budgets.clone()));
    let world = reading(world, kinds).start().await;
    let first = world.ask("Go.").await;
    model.begun().await;
    let second = world.ask("Go.").await;
    asleep_over_budget(&world, &second).await;
    model.let_go(1);
    world.ended(first.id).await;
    let why = world.client().why(second.id).await.unwrap();
    assert!(!matches!(why.cause(), Cause::Budget { .. }), "{why:?}");
    (world, model, second)
}

#[tokio::test]
async fn an_agent_whose_budget_has_room_again_says_so_and_when_it_goes_on() {
    let model = HeldModel::new(answering());
    let budgets = Budgets { per_owner_per_day: Some(dollars("$0.0150")), ..Budgets::default() };
    let world = World::builder(model.clone()).kinds(one_kind(|_| {})).dispatchers(at_once(2));
    let world = world.engine(move |engine| engine.budgets(budgets.clone())).start().await;
    let first = world.ask("Go.").await;
    model.begun().await;
    let second = world.ask("Go.").await;
    asleep_over_budget(&world, &second).await;
    model.let_go(1);
    world.ended(first.id).await;
    // Only the engine that works knows that a place is free.
    let client = world.engine().client(Owner::local());
    let why = async || client.why(second.id).await.unwrap();
    let why = eventually("it has room", why, |why| matches!(why.cause(), Cause::Room { .. })).await;
    assert!(why.cause().due().is_some_and(|due| due > world.clock().now()), "{why:?}");
    let told = "waits for its budget, which has room again, and goes on at ";
    assert!(why.text().starts_with(told), "{}", why.text());
}

#[tokio::test]
async fn a_reload_that_changes_no_kind_wakes_nobody() {
    let is_other = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&is_other);
    let (world, model, asleep) = with_room(move || {
        let kinds = one_kind(|_| {});
        if other.load(Ordering::Relaxed) { kinds.with(bare("other")) } else { kinds }
    })
    .await;
    let before = undisturbed(&world, &asleep).await;
    assert!(!world.engine().reload().await.unwrap().has_changes());
    // Another agent works meanwhile.
    model.let_go(1);
    let root = world.ask("Go.").await;
    world.ended(root.id).await;
    assert_eq!(undisturbed(&world, &asleep).await, before);
    is_other.store(true, Ordering::Relaxed);
    assert_eq!(world.engine().reload().await.unwrap().added, ["other"]);
    model.let_go(1);
    assert_eq!(world.ended(asleep.id).await.status, Status::Succeeded);
}

#[tokio::test]
async fn an_engine_that_stops_wakes_nobody() {
    let (world, _, asleep) = with_room(|| one_kind(|_| {})).await;
    let before = undisturbed(&world, &asleep).await;
    world.engine().stopping().cancel();
    world.engine().wake_where_room().await;
    assert_eq!(undisturbed(&world, &asleep).await, before);
}

/// Who replaces the kinds itself has those go on that wait.
#[tokio::test]
async fn those_that_wait_go_on_once_asked_after_the_kinds_were_replaced() {
    let within = |budget| one_kind(|kind| kind.limits.max_tree_cost = Some(dollars(budget)));
    let world = World::builder(answering()).kinds(within("$0.0001")).start().await;
    let root = world.ask("Go.").await;
    asleep_over_budget(&world, &root).await;
    world.engine().renew(within("$1"), Vec::new()).unwrap();
    world.engine().wake_where_room().await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
}
