//! Budgets: nothing is spent beyond one, whatever runs beside, crashes or is tried again; a grant lets a tree go on.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use entourage_engine::{Budgets, Cause, Client, Error, Interrupt, Kinds, NewAgent, Run};
use entourage_llm::{Error as ModelError, Price, Request, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{Fault, Faults, HeldModel, Story, World, WorldBuilder};
use entourage_types::{
    Action, Agent, AgentId, Amount, Budget, BudgetAction, BudgetId, Cost, Event, EventBody, ItemBody, Kind,
    Limits, ModelUse, NoticeCode, Owner, Scope, Sessions, Status, StepState, Time, Usage, WaitingOn,
};
use futures::{FutureExt, future::BoxFuture};
use serde_json::json;

use crate::kit::{
    FakeClockExt, WithProgram, WorldBuilderExt, WorldExt, at_once, bare, eventually, first_tools, insist,
    is_worker, one_kind, team, within, work,
};

type Outcome<'r> = BoxFuture<'r, Result<String, Interrupt>>;

/// A person at the engine at work.
pub(crate) fn person(world: &World) -> Client {
    world.engine().client(Owner::local())
}

/// How many workers there are.
pub(crate) const WORKERS: u64 = 64;
/// How many there are where each commit fails once.
pub(crate) const FEW: u64 = 8;

/// A dollar for a million tokens, in or out: a thousandth of a cent buys ten.
fn price() -> Price {
    Price { input: 1.0, output: 1.0, cached: None, cache_written: None }
}

pub(crate) fn dollars(text: &str) -> Cost {
    text.parse().unwrap()
}

fn cost(text: &str) -> Amount {
    Amount { cost: dollars(text), tokens: 0 }
}

/// Answers that use 300 tokens each.
pub(crate) fn answering() -> ScriptedModel {
    let used = Usage { input: 200, output: 100, ..Usage::default() };
    ScriptedModel::deciding(move |_| Some(Ok(Script::text("done").using(used)))).priced(price())
}

/// Starts this many workers and joins them.
async fn join_all(run: &mut Run<'_>, workers: u64) -> Result<String, Interrupt> {
    run.receive().await?;
    let names: Vec<String> = (0..workers).map(|nth| nth.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let started = run.spawn("parts", work(&names)).await?;
    let done = run.join(&started).await?.iter().filter(|part| part.status == Status::Succeeded).count();
    Ok(run.say(done.to_string()))
}

fn joins<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    join_all(run, WORKERS).boxed()
}

pub(crate) fn joins_few<'r>(run: &'r mut Run<'_>) -> Outcome<'r> {
    join_all(run, FEW).boxed()
}

/// A leader with this budget and 64 workers, whose answers are short.
pub(crate) fn crowd(model: impl entourage_llm::Model, budget: &str) -> WorldBuilder {
    led(model, budget).program(&[], joins)
}

/// A leader with this budget, and workers, whose answers are short.
fn led(model: impl entourage_llm::Model, budget: &str) -> WorldBuilder {
    let kinds = team_within(dollars(budget));
    World::builder(model).kinds(kinds).dispatchers(at_once(WORKERS as usize + 1))
}

/// The kinds of a leader with this budget, and of workers.
pub(crate) fn team_within(budget: Cost) -> Kinds {
    let limits = Limits {
        max_tree_cost: Some(budget),
        max_children: 100,
        max_answer_tokens: Some(100),
        ..Limits::default()
    };
    let mut kinds = team();
    for name in ["assistant", "worker"] {
        let kind = kinds.get(name).unwrap();
        kinds.add(Kind { limits: limits.clone(), version: String::new(), ..(*kind).clone() });
    }
    kinds
}

async fn waiting(world: &World, root: &Agent) -> usize {
    let tree = world.client().tree(root.id).await.unwrap();
    tree.iter().filter(|agent| agent.waiting_on == Some(WaitingOn::Retry)).count()
}

/// How many of these agents wait until more is granted.
pub(crate) async fn lacking(world: &World, tree: &[Agent]) -> usize {
    let mut count = 0;
    for agent in tree.iter().filter(|agent| agent.waiting_on == Some(WaitingOn::Retry)) {
        let why = world.client().why(agent.id).await.unwrap();
        count += usize::from(matches!(why.cause(), Cause::Budget { may_have_room: false, .. }));
    }
    count
}

/// All workers are started at once, each call may use far more than it does use, and the budget holds a part of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_agents_at_once_spend_exactly_their_budget_and_a_grant_lets_them_go_on() {
    // Room for 20 answers and one call's worst case.
    let world = crowd(answering(), "$0.0072").store(MemoryStore::default()).start().await;
    let root = world.ask("Go.").await;
    let budget = async || world.client().budgets(root.id).await.unwrap().remove(0);
    // Whoever only waits for others to settle looks again once time passes: none does while a call is under way.
    let met = within("the budget is met", async {
        loop {
            let tree = world.client().tree(root.id).await.unwrap();
            let is_at_work =
                |agent: &Agent| matches!(agent.status, Status::Running | Status::Queued | Status::Idle);
            let met = budget().await;
            if tree.len() > WORKERS as usize && !tree.iter().any(is_at_work) && met.budget.reserved.is_zero()
            {
                if lacking(&world, &tree).await == waiting(&world, &root).await {
                    return met;
                }
                world.clock().advance(Duration::from_secs(2));
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(met.budget.spent.cost <= dollars("$0.0072"), "{met:?}");
    assert!(met.budget.spent.cost > dollars("$0.0040"), "{met:?}");
    assert_eq!(met.budget.presumed, Amount::default());
    assert!(waiting(&world, &root).await > 30);
    let why = world.client().why(root.id).await.unwrap();
    assert!(matches!(why.cause(), Cause::Budget { .. }), "{why:?}");
    assert!(why.text().contains("the tree's budget has $0.00"), "{}", why.text());
    // Enough for all of them.
    person(&world).grant_budget(root.id, cost("$1"), None).await.unwrap();
    let ended = within("all end", world.ended(root.id)).await;
    assert_eq!(ended.status, Status::Succeeded);
    let budget = budget().await.budget;
    assert_eq!(budget.spent, Amount { cost: dollars("$0.0192"), tokens: 300 * WORKERS });
    assert_eq!((budget.reserved, budget.presumed), (Amount::default(), Amount::default()));
    assert_eq!(world.client().tree_usage(root.id).await.unwrap().total().cost, budget.spent.cost);
    assert!(world.audit().await.is_empty());
}

/// A crash may lose usage, which then counts as the most that the call could use, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn reservations_survive_a_crash_at_every_commit() {
    let story = Story::new(["Go.", "Again."], |_| {
        let model = ScriptedModel::deciding(|request: &Request| {
            let first = request.messages.len() == 1 || is_worker(request);
            let used = Usage { input: 20, output: 10, ..Usage::default() };
            let script = match (is_worker(request), first) {
                (false, true) => {
                    Script::call("send_message", json!({ "recipient": "worker", "message": "a" }))
                }
                _ => Script::text("done"),
            };
            Some(Ok(script.using(used)))
        });
        let limits = Limits { max_tree_cost: Some(dollars("$100")), ..Limits::default() };
        let worker = Kind { instructions: "You are a worker".into(), ..bare("worker") };
        let kinds = one_kind(|kind| (kind.limits, kind.peers) = (limits, vec!["worker".into()])).with(worker);
        World::builder(model.priced(price())).tools(first_tools()).kinds(kinds).store(MemoryStore::default())
    });
    let points = story.survives([1], 2).await;
    assert!(points >= 20, "{points}");
}

/// Several workers at once over a budget that holds a part of them: whatever dies at any commit, nothing is spent
/// beyond it, and a grant lets all of them go on.
///
/// Shows: INV-08.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_many_meet_at_once_holds_whatever_dies() {
    let few = || led(answering(), "$0.0027").program(&[], joins_few);
    let met = async |at, fault| met(few(), dollars("$0.0027"), FEW, at, fault).await;
    let commits = met(u64::MAX, Fault::DieBefore).await;
    assert!(commits >= 30, "{commits}");
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
            within(&format!("{fault:?} at commit {at}"), met(at, fault)).await;
        }
    }
}

/// Has that many workers meet a budget of which this much is allowed, while the first process has a fault, and grants
/// enough for all; returns how many commits the first process began.
pub(crate) async fn met(world: WorldBuilder, allowed: Cost, workers: u64, at: u64, fault: Fault) -> u64 {
    let world = world.store(MemoryStore::default()).start_with(at, fault).await;
    let faults = world.faults().clone();
    let new = || NewAgent { message: Some("Go.".into()), ..NewAgent::default() };
    let (world, root) = insist(world, async |world| person(world).create(new(), Some("new")).await).await;
    let root = root.id;
    let (world, ()) = insist(world, async |world| {
        let is_met = async |tree: &[Agent]| lacking(world, tree).await > 0;
        passing(world, root, is_met, allowed).await;
        Ok(())
    })
    .await;
    let (world, _) =
        insist(world, async |world| person(world).grant_budget(root, cost("$1"), Some("more")).await).await;
    let (world, ()) = insist(world, async |world| {
        let is_over = async |tree: &[Agent]| tree.iter().all(|agent| agent.status == Status::Succeeded);
        let mut allowed = allowed;
        allowed += dollars("$1");
        passing(world, root, is_over, allowed).await;
        Ok(())
    })
    .await;
    let budget = world.client().budgets(root).await.unwrap().remove(0).budget;
    assert!(budget.reserved.is_zero(), "{budget:?}");
    assert_eq!(budget.spent.tokens, 300 * workers, "each answer counts once");
    assert_eq!(world.client().tree_usage(root).await.unwrap().total().cost, budget.spent.cost);
    assert_eq!(world.audit().await, []);
    faults.commits()
}

/// Looks in a row that find everything as it was, after which time passes all the same: an agent that a process which
/// is dead has claimed last is taken up when the dispatcher looks again, by a clock that stands otherwise.
const QUIET: u32 = 500;

/// Lets time pass, whenever nobody is at work, until the tree is so; meanwhile never more than this is gone or reserved.
async fn passing(world: &World, root: AgentId, is_so: impl AsyncFn(&[Agent]) -> bool, allowed: Cost) {
    let (mut before, mut quiet) = (None, 0);
    loop {
        let Budget { spent, presumed, reserved, .. } =
            world.client().budgets(root).await.unwrap().remove(0).budget;
        let mut taken = spent;
        taken += presumed;
        taken += reserved;
        assert!(taken.cost <= allowed, "{taken:?}");
        let tree = world.client().tree(root).await.unwrap();
        if is_so(&tree).await {
            return;
        }
        let rests = |agent: &Agent| {
            agent.status.is_terminal()
                || matches!(agent.status, Status::Waiting) && agent.waiting_on.is_some()
        };
        let is_at_rest = tree.iter().all(rests) && reserved.is_zero();
        let now = Some((tree, taken));
        quiet = if now == before { quiet + 1 } else { 0 };
        before = now;
        if is_at_rest || quiet == QUIET {
            quiet = 0;
            world.clock().advance(Duration::from_secs(2));
        }
        tokio::task::yield_now().await;
    }
}

/// A kind whose tree may use this many tokens, with answers of at most a hundred.
fn limited(tokens: u64) -> entourage_engine::Kinds {
    let limits = Limits { max_tree_tokens: Some(tokens), max_answer_tokens: Some(100), ..Limits::default() };
    one_kind(|kind| kind.limits = limits)
}

pub(crate) async fn asleep_over_budget(world: &World, root: &Agent) {
    eventually("it waits", async || waiting(world, root).await, |waiting| *waiting == 1).await;
}

/// A person's grant, made as often as it takes, reaches the agent whatever dies, and is taken back once.
#[tokio::test(flavor = "multi_thread")]
async fn a_grant_survives_a_crash_at_every_commit() {
    let grants = async |at, fault| {
        let world = World::builder(answering()).kinds(limited(10)).store(MemoryStore::default());
        let world = world.start_with(at, fault).await;
        let faults = world.faults().clone();
        let new = || NewAgent { message: Some("Go.".into()), ..NewAgent::default() };
        let (world, root) = insist(world, async |world| person(world).create(new(), Some("new")).await).await;
        let (world, ()) = insist(world, async |world| {
            asleep_over_budget(world, &root).await;
            Ok(())
        })
        .await;
        let more = Amount { tokens: 100_000, ..Amount::default() };
        let (world, states) =
            insist(world, async |world| person(world).grant_budget(root.id, more, Some("more")).await).await;
        assert_eq!(states[0].budget.granted, more, "once");
        let (world, ended) = insist(world, async |world| Ok(world.ended(root.id).await)).await;
        assert_eq!(ended.status, Status::Succeeded);
        let half = Amount { tokens: 50_000, ..Amount::default() };
        let back = async |world: &World| person(world).take_back_budget(root.id, half, Some("back")).await;
        let (world, states) = insist(world, back).await;
        assert_eq!(states[0].budget.granted, half, "once");
        assert_eq!(told(&world, root.id).await.len(), 2);
        assert!(world.audit().await.is_empty());
        faults.commits()
    };
    let commits = grants(u64::MAX, Fault::DieBefore).await;
    assert!(commits >= 5, "{commits}");
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
            within(&format!("{fault:?} at commit {at}"), grants(at, fault)).await;
        }
    }
}

#[tokio::test]
async fn a_met_budget_is_said_once_and_shown_and_the_model_reads_nothing_of_it() {
    let model = answering();
    let world = World::builder(model.clone()).kinds(limited(10)).start().await;
    let root = world.ask("Go.").await;
    asleep_over_budget(&world, &root).await;
    assert!(model.requests().is_empty(), "no model is asked");
    // It looks again now and then, and says nothing new.
    world.clock().advance(Duration::from_secs(24 * 60 * 60 + 1));
    asleep_over_budget(&world, &root).await;
    let items = world.client().items(root.id, 0, 100).await.unwrap();
    let said = items.iter().filter(
        |item| matches!(&item.body, ItemBody::Notice(notice) if notice.code == NoticeCode::OverBudget),
    );
    assert_eq!(said.count(), 1, "{items:?}");
    let more = Amount { tokens: 100_000, ..Amount::default() };
    let refused = person(&world).grant_budget(root.id, cost("$1"), None).await.unwrap_err().to_string();
    assert!(refused.contains("its tree has no such budget"), "{refused}");
    let refused =
        person(&world).grant_budget(root.id, Amount::default(), None).await.unwrap_err().to_string();
    assert!(refused.contains("nothing is granted"), "{refused}");
    person(&world).grant_budget(root.id, more, None).await.unwrap();
    world.ended(root.id).await;
    let request = &model.requests()[0];
    assert_eq!((request.max_tokens, request.messages.len()), (Some(100), 1), "{request:?}");
    let run = world.client().runs(root.id, Page::default()).await.unwrap().remove(0);
    let rebuilt = world.client().request(run.id, 1).await.unwrap();
    assert_eq!(rebuilt.doubt, None, "the limit on the answer is part of what is proved");
}

#[tokio::test]
async fn after_a_grant_the_events_say_that_the_budget_has_room_and_not_what_it_lacked() {
    let world = World::builder(answering()).kinds(limited(10)).start().await;
    let root = world.ask("Go.").await;
    asleep_over_budget(&world, &root).await;
    let before = world.client().events(root.id, 0, 100).await.unwrap();
    let errors = |events: Vec<Event>| {
        let error = |event: Event| match event.body {
            EventBody::Step { error, .. } => error,
            _ => None,
        };
        events.into_iter().filter_map(error).collect::<Vec<_>>()
    };
    let last = before.last().map_or(0, |event| event.seq);
    let lacked = errors(before);
    assert!(lacked.iter().all(|why| why.contains("tokens left, and the next call may take")), "{lacked:?}");
    let more = Amount { tokens: 100_000, ..Amount::default() };
    person(&world).grant_budget(root.id, more, None).await.unwrap();
    world.ended(root.id).await;
    let after = errors(world.client().events(root.id, last, 100).await.unwrap());
    assert_eq!(after, ["the tree's budget has room again"]);
}

/// What is granted by mistake changes nothing, and its key is not used up.
#[tokio::test]
async fn a_grant_that_must_be_a_mistake_is_refused_and_changes_nothing() {
    let world = World::builder(answering()).kinds(limited(1_000_000)).start().await;
    let root = world.ask("Go.").await;
    world.ended(root.id).await;
    let tokens = |tokens| Amount { tokens, ..Amount::default() };
    person(&world).grant_budget(root.id, tokens(7), None).await.unwrap();
    let most = entourage_engine::MOST_GRANTED_AT_ONCE.tokens;
    for more in [most + 1, u64::MAX] {
        let refused = person(&world).grant_budget(root.id, tokens(more), Some("more")).await.unwrap_err();
        assert!(matches!(refused, Error::Invalid(_)), "{refused:?}");
        assert!(refused.to_string().starts_with("grant at most 1000000000000 tokens at once: "), "{refused}");
        let budget = world.client().budgets(root.id).await.unwrap().remove(0).budget;
        assert_eq!(budget.granted, tokens(7));
    }
    let states = person(&world).grant_budget(root.id, tokens(most), Some("more")).await.unwrap();
    assert_eq!(states[0].budget.granted, tokens(most + 7));
    assert_eq!(told(&world, root.id).await.len(), 2);
    assert!(world.audit().await.is_empty());
}

/// Who granted a tree how much, or took how much back, as its events tell it.
async fn told(world: &World, root: AgentId) -> Vec<(Owner, BudgetAction, u64)> {
    let told = |event: Event| match event.body {
        EventBody::Budget { by, action, amount } => Some((by, action, amount.tokens)),
        _ => None,
    };
    world.client().events(root, 0, 1_000).await.unwrap().into_iter().filter_map(told).collect()
}

/// A grant is taken back as far as it is left, once per key, and the events of the tree tell who did what.
#[tokio::test]
async fn what_was_granted_is_taken_back_as_far_as_it_is_neither_spent_nor_reserved() {
    let world = World::builder(answering()).kinds(limited(10)).start().await;
    let root = world.ask("Go.").await;
    asleep_over_budget(&world, &root).await;
    let tokens = |tokens| Amount { tokens, ..Amount::default() };
    let none = person(&world).take_back_budget(root.id, tokens(1), None).await.unwrap_err();
    assert!(none.to_string().starts_with("take back at most 0 tokens: "), "{none}");
    person(&world).grant_budget(root.id, tokens(100_000), None).await.unwrap();
    world.ended(root.id).await;
    let spent = world.client().budgets(root.id).await.unwrap().remove(0).budget.spent.tokens;
    let left = 100_010 - spent;
    let refused = person(&world).take_back_budget(root.id, tokens(left + 1), Some("back")).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused, Error::Invalid(_)), "{refused:?}");
    assert!(refused.to_string().starts_with(&format!("take back at most {left} tokens: ")), "{refused}");
    for _ in 0..2 {
        let state =
            person(&world).take_back_budget(root.id, tokens(left), Some("back")).await.unwrap().remove(0);
        assert_eq!((state.left().tokens, state.returnable()), (Some(0), Amount::default()), "{state:?}");
    }
    let nothing = person(&world).take_back_budget(root.id, Amount::default(), None).await;
    assert!(matches!(nothing, Err(Error::Invalid(_))), "{nothing:?}");
    let no_money = person(&world).take_back_budget(root.id, cost("$1"), None).await;
    assert!(matches!(no_money, Err(Error::NotNow { .. })), "{no_money:?}");
    let stranger = world.engine().client(Owner::new("eve")).take_back_budget(root.id, tokens(1), None).await;
    assert!(matches!(stranger, Err(Error::NotFound { .. })), "{stranger:?}");
    let local = Owner::local;
    let expected = [(local(), BudgetAction::Grant, 100_000), (local(), BudgetAction::TakeBack, left)];
    assert_eq!(told(&world, root.id).await, expected);
    assert!(world.audit().await.is_empty());
}

/// The provider may have worked on a call that timed out.
#[tokio::test]
async fn a_call_without_known_usage_counts_as_its_reservation_and_a_refused_one_as_nothing() {
    let timed_out = || ModelError::TimedOut { model: "m".into(), after: Duration::from_secs(1) };
    let unavailable =
        || ModelError::Unavailable { model: "m".into(), cause: "503".into(), retry_after: None };
    for (error, is_presumed) in [(timed_out(), true), (unavailable(), false)] {
        let model = ScriptedModel::new([]);
        model.push(Err(error));
        let used = Usage { input: 20, output: 10, ..Usage::default() };
        model.push(Ok(Script::text("done").using(used)));
        // An answer whose usage the provider does not say.
        model.push(Ok(Script::text("done").using(Usage::default())));
        let world = World::builder(model.clone()).kinds(limited(100_000)).start().await;
        let root = world.ask("Go.").await;
        let budget = async || world.client().budgets(root.id).await.unwrap().remove(0).budget;
        // Before the pause: nobody else waits for what it had reserved.
        let settled = |budget: &Budget| model.requests().len() == 1 && budget.reserved.is_zero();
        eventually("the failed attempt is settled", budget, settled).await;
        world.asleep(&root).await;
        world.clock().advance(Duration::from_secs(12));
        world.ended(root.id).await;
        let first = budget().await;
        assert_eq!((first.spent.tokens, first.reserved.tokens), (30, 0));
        assert_eq!(first.presumed.tokens > 100, is_presumed, "{first:?}");
        person(&world).send(root.id, "Again.", None).await.unwrap();
        world.ended(root.id).await;
        let second = budget().await;
        assert!(second.presumed.tokens > first.presumed.tokens + 100, "{second:?}");
    }
}

#[tokio::test]
async fn an_owner_who_has_spent_the_days_budget_goes_on_the_next_day() {
    let model = answering();
    let owners = BTreeMap::from([(Owner::new("rich"), dollars("$1"))]);
    // Room for one call of 8,192 tokens in the answer.
    let budgets = Budgets { per_owner_per_day: Some(dollars("$0.0090")), owners, unpriced: None };
    let world = World::builder(model.clone()).kinds(one_kind(|_| {}));
    let world = world.engine(move |engine| engine.budgets(budgets.clone())).start().await;
    let first = world.ask("Go.").await;
    world.ended(first.id).await;
    let second = world.ask("Go.").await;
    asleep_over_budget(&world, &second).await;
    let why = world.client().why(second.id).await.unwrap().cause().clone();
    assert!(matches!(&why, Cause::Budget { .. }), "{why:?}");
    // Others have budgets of their own.
    let rich = world.engine().client(Owner::new("rich"));
    let new = || NewAgent { message: Some("Go.".into()), ..NewAgent::default() };
    for _ in 0..2 {
        let agent = rich.create(new(), None).await.unwrap();
        let now = async || rich.agent(agent.id).await.unwrap().status;
        eventually("it ends", now, |status| *status == Status::Succeeded).await;
    }
    let refused = person(&world).grant_budget(second.id, cost("$1"), None).await.unwrap_err().to_string();
    assert!(refused.contains("its tree has no such budget"), "{refused}");
    world.clock().advance(Duration::from_secs(24 * 60 * 60));
    world.ended(second.id).await;
}

/// A price that is not known is refused at the door, or assumed.
#[tokio::test]
async fn a_budget_in_money_needs_a_price_known_or_assumed() {
    let unpriced = || {
        let used = Usage { input: 200, output: 100, ..Usage::default() };
        ScriptedModel::deciding(move |_| Some(Ok(Script::text("done").using(used))))
    };
    let limits = Limits { max_tree_cost: Some(dollars("$1")), ..Limits::default() };
    let kinds = || one_kind(|kind| kind.limits = limits.clone());
    let world = World::builder(unpriced()).kinds(kinds()).start().await;
    let new = || NewAgent { message: Some("Go.".into()), ..NewAgent::default() };
    let refused = world.client().create(new(), None).await.unwrap_err().to_string();
    assert!(refused.contains("may spend $1.000000 in a tree, but the price of"), "{refused}");
    let budgets = Budgets { unpriced: Some(price()), ..Budgets::default() };
    let world = World::builder(unpriced()).kinds(kinds());
    let world = world.engine(move |engine| engine.budgets(budgets.clone())).start().await;
    let root = world.ask("Go.").await;
    world.ended(root.id).await;
    let budget = world.client().budgets(root.id).await.unwrap().remove(0).budget;
    assert_eq!(budget.spent, Amount { cost: dollars("$0.0003"), tokens: 300 });
    // That of a day meets the unknown price only when the model is to be asked.
    let budgets = Budgets { per_owner_per_day: Some(dollars("$1")), ..Budgets::default() };
    let world = World::builder(unpriced()).kinds(one_kind(|_| {}));
    let world = world.engine(move |engine| engine.budgets(budgets.clone())).start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    let run = world.client().runs(root.id, Page::default()).await.unwrap().remove(0);
    assert!(run.error.unwrap().contains("`budget.unpriced`"));
}

/// A call that is cut off by a stop counts as its reservation.
#[tokio::test]
async fn a_stopped_call_leaves_nothing_reserved() {
    let model = HeldModel::new(answering());
    let world = World::builder(model.clone()).kinds(limited(100_000)).start().await;
    let root = world.ask("Go.").await;
    model.begun().await;
    let budget = async || world.client().budgets(root.id).await.unwrap().remove(0).budget;
    let held = budget().await.reserved;
    assert!(held.tokens > 100, "{held:?}");
    person(&world).intervene(root.id, Action::Stop, None).await.unwrap();
    world.ended(root.id).await;
    let stopped = budget().await;
    assert_eq!((stopped.reserved, stopped.presumed), (Amount::default(), held));
    let root = world.ask("Go.").await;
    model.begun().await;
    person(&world).intervene(root.id, Action::Delete, None).await.unwrap();
    let deleted = world.client().budgets(root.id).await.unwrap().remove(0).budget;
    assert_eq!((deleted.reserved.tokens, deleted.presumed), (0, held));
}

/// Without room for its summary, a session is closed with excerpts of its messages.
#[tokio::test]
async fn a_session_is_closed_without_a_summary_that_the_budget_does_not_hold() {
    let model = answering();
    let limits = Limits { max_tree_tokens: Some(1_000), max_answer_tokens: Some(100), ..Limits::default() };
    let kinds = one_kind(|kind| {
        kind.limits = limits;
        (kind.context.sessions, kind.context.idle_minutes) = (Sessions::Idle, Some(30));
    });
    let world = World::builder(model.clone()).kinds(kinds).start().await;
    let root = world.ask("Go.").await;
    world.ended(root.id).await;
    world.clock().advance(Duration::from_secs(3600));
    let sessions = async || world.client().sessions(root.id, Page::default()).await.unwrap();
    let closed = eventually("it is closed", sessions, |sessions| sessions.len() == 1).await;
    assert_eq!((closed[0].used.clone(), model.requests().len()), (None, 1), "{closed:?}");
    assert!(closed[0].summary.contains("Go."), "{closed:?}");
    assert!(world.audit().await.is_empty());
}

/// What a call reserved that the process did not survive is gone, and the next call needs as much again.
#[tokio::test]
async fn a_lost_reservation_that_leaves_no_room_waits_for_a_grant() {
    let model = HeldModel::new(answering());
    let world = World::builder(model.clone()).kinds(limited(1_000)).start().await;
    let root = world.ask("Go.").await;
    model.begun().await;
    world.faults().kill();
    let world = world.restart(Faults::default()).await;
    asleep_over_budget(&world, &root).await;
    let why = world.client().why(root.id).await.unwrap();
    assert!(matches!(why.cause(), Cause::Budget { .. }), "{why:?}");
    let lost = world.client().budgets(root.id).await.unwrap().remove(0).budget;
    assert!(lost.reserved.is_zero() && lost.presumed.tokens > 500, "{lost:?}");
    model.let_go(1);
    person(&world).grant_budget(root.id, Amount { tokens: 1_000, ..Amount::default() }, None).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
}

#[tokio::test]
async fn an_agent_that_was_paused_when_more_was_granted_goes_on_once_it_is_resumed() {
    let world = World::builder(answering()).kinds(limited(10)).start().await;
    let root = world.ask("Go.").await;
    asleep_over_budget(&world, &root).await;
    person(&world).intervene(root.id, Action::Pause, None).await.unwrap();
    let paused = async || world.client().agent(root.id).await.unwrap().waiting_on;
    eventually("it is paused", paused, |on| *on == Some(WaitingOn::Resume)).await;
    let more = Amount { tokens: 100_000, ..Amount::default() };
    person(&world).grant_budget(root.id, more, None).await.unwrap();
    assert_eq!(paused().await, Some(WaitingOn::Resume));
    person(&world).intervene(root.id, Action::Resume, None).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
}

/// What a kind allowed holds for the trees that it began, also once its file is gone.
#[tokio::test]
async fn a_budget_holds_although_its_kind_is_gone() {
    let other = || bare("other");
    let both = move || limited(10).with(other());
    let is_gone = Arc::new(AtomicBool::new(false));
    let gone = Arc::clone(&is_gone);
    let kinds = move || if gone.load(Ordering::Relaxed) { Kinds::none().with(other()) } else { both() };
    let with_kinds = move |engine: entourage_engine::Builder| {
        let read = kinds.clone();
        engine.kinds(kinds()).kinds_from(Arc::new(move || Ok((read(), Vec::new()))))
    };
    let world = World::builder(answering()).engine(with_kinds).start().await;
    let root = world.ask("Go.").await;
    asleep_over_budget(&world, &root).await;
    is_gone.store(true, Ordering::Relaxed);
    assert_eq!(world.engine().reload().await.unwrap().removed, ["assistant"]);
    world.clock().advance(Duration::from_secs(60 * 60));
    asleep_over_budget(&world, &root).await;
    // Nor does the next process forget it, which never had the kind.
    let world = world.restart(Faults::default()).await;
    let looks_again = async || world.store().due(Time::LAST, None, 100).await.unwrap();
    let before = looks_again().await;
    world.clock().advance(Duration::from_secs(60 * 60));
    eventually("it has looked again", looks_again, |now| now.len() == 1 && now[0].due > before[0].due).await;
    asleep_over_budget(&world, &root).await;
    let budget = world.client().budgets(root.id).await.unwrap().remove(0);
    assert_eq!(budget.allowance.tokens, Some(10));
    let more = Amount { tokens: 100_000, ..Amount::default() };
    person(&world).grant_budget(root.id, more, None).await.unwrap();
    world.ended(root.id).await;
}

/// What reaches an agent while it lacks room leaves one wake-up, that of the time at which it looks again.
#[tokio::test]
async fn an_agent_that_lacks_room_has_one_wakeup_whatever_reaches_it() {
    let world = World::builder(answering()).kinds(limited(10)).start().await;
    let root = world.ask("Go.").await;
    asleep_over_budget(&world, &root).await;
    let wakeups = async || world.store().due(entourage_types::Time::LAST, None, 100).await.unwrap();
    let before = wakeups().await;
    assert_eq!(before.len(), 1);
    for nth in 0..5 {
        person(&world).send(root.id, &format!("More {nth}."), None).await.unwrap();
        world.engine().advance(root.id).await.unwrap();
    }
    eventually("it sleeps again", wakeups, |left| *left == before).await;
    // What people want of it is for when it goes on, and is not why it waits.
    for action in [Action::Comment, Action::CloseSession, Action::Retry] {
        let text = (action == Action::Comment).then_some("Mind the price.");
        person(&world).intervene(root.id, action, text).await.unwrap();
        let cause = async || world.client().why(root.id).await.unwrap().cause().clone();
        eventually("the budget is why", cause, |cause| matches!(cause, Cause::Budget { .. })).await;
        world.engine().advance(root.id).await.unwrap();
        assert!(matches!(cause().await, Cause::Budget { .. }), "{action:?}");
    }
}

/// Holds the first request back, and answers the next ones.
#[derive(Clone)]
struct HoldsFirst {
    inner: ScriptedModel,
    requests: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl entourage_llm::Model for HoldsFirst {
    async fn call(
        &self,
        request: Request,
        deltas: &mut dyn entourage_llm::Deltas,
    ) -> entourage_llm::Result<entourage_llm::Reply> {
        deltas.delta(entourage_llm::Delta::Queued);
        if self.requests.fetch_add(1, Ordering::Relaxed) == 0 {
            return std::future::pending().await;
        }
        deltas.delta(entourage_llm::Delta::Sent);
        self.inner.call(request, deltas).await
    }

    fn describe(&self) -> String {
        "holds requests back".into()
    }
}

#[tokio::test]
async fn a_request_that_never_left_the_gate_counts_as_nothing() {
    let model = HoldsFirst { inner: answering(), requests: Arc::default() };
    let world = World::builder(model.clone()).kinds(limited(100_000)).start().await;
    let root = world.ask("Go.").await;
    let budget = async || world.client().budgets(root.id).await.unwrap().remove(0).budget;
    eventually("it is reserved", budget, |budget| !budget.reserved.is_zero()).await;
    // Until the model has been silent for too long, and the pause before the next attempt is over.
    while model.requests.load(Ordering::Relaxed) < 2 {
        world.clock().advance_to_sleeper(Duration::from_secs(300)).await;
        tokio::task::yield_now().await;
    }
    world.ended(root.id).await;
    let settled = budget().await;
    assert_eq!((settled.presumed.tokens, settled.spent.tokens), (0, 300));
}

/// Reports the usage of an unusable first answer, and whether it then asked again itself, before it fails.
#[derive(Clone)]
struct FailsFirst {
    inner: ScriptedModel,
    asks_again: bool,
    requests: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl entourage_llm::Model for FailsFirst {
    async fn call(
        &self,
        request: Request,
        deltas: &mut dyn entourage_llm::Deltas,
    ) -> entourage_llm::Result<entourage_llm::Reply> {
        if self.requests.fetch_add(1, Ordering::Relaxed) > 0 {
            return self.inner.call(request, deltas).await;
        }
        let usage = Usage { input: 20, output: 10, ..Usage::default() };
        let used = ModelUse { model: "m".into(), usage, cost: None };
        deltas.delta(entourage_llm::Delta::Sent);
        deltas.delta(entourage_llm::Delta::DiscardedUsage(used));
        if self.asks_again {
            deltas.delta(entourage_llm::Delta::Sent);
        }
        Err(ModelError::TimedOut { model: "m".into(), after: Duration::from_secs(1) })
    }

    fn describe(&self) -> String {
        "fails first".into()
    }
}

/// What is known of the first request says nothing of the second one.
#[tokio::test]
async fn a_second_request_that_times_out_counts_as_its_reservation() {
    for asks_again in [false, true] {
        let model = FailsFirst { inner: answering(), asks_again, requests: Arc::default() };
        let world = World::builder(model).kinds(limited(100_000)).start().await;
        let root = world.ask("Go.").await;
        world.asleep(&root).await;
        world.clock().advance(Duration::from_secs(12));
        world.ended(root.id).await;
        let settled = world.client().budgets(root.id).await.unwrap().remove(0).budget;
        assert_eq!(settled.spent.tokens, 30 + 300, "{settled:?}");
        assert_eq!(settled.presumed.tokens > 100, asks_again, "{settled:?}");
        let used = world.client().tree_usage(root.id).await.unwrap().total();
        assert_eq!((used.usage.tokens(), used.cost), (settled.spent.tokens, settled.spent.cost));
    }
}

/// What calls under way have reserved may come back: nobody need grant anything, and nothing is written meanwhile.
#[tokio::test]
async fn a_call_that_others_leave_no_room_is_put_off_says_so_and_goes_on_by_itself() {
    let model = HeldModel::new(answering());
    // Room for one call of 8,192 tokens in the answer, and no other beside it.
    let budgets = Budgets { per_owner_per_day: Some(dollars("$0.0100")), ..Budgets::default() };
    let world = World::builder(model.clone()).kinds(one_kind(|_| {}));
    let world = world.engine(move |engine| engine.budgets(budgets.clone())).start().await;
    let first = world.ask("Go.").await;
    model.begun().await;
    let second = world.ask("Go.").await;
    asleep_over_budget(&world, &second).await;
    let why = world.client().why(second.id).await.unwrap();
    assert!(matches!(why.cause(), Cause::Budget { may_have_room: true, .. }), "{why:?}");
    assert!(why.text().contains("waits for model calls under way to end"), "{}", why.text());
    let run = world.client().runs(second.id, Page::default()).await.unwrap().remove(0).id;
    let put_off = async || {
        let steps = world.store().steps(&Scope::All, run).await.unwrap();
        steps
            .iter()
            .map(|step| if let StepState::Retry(retry) = &step.state { retry.put_off } else { 0 })
            .max()
    };
    let beside = async || {
        let events = world.client().events(second.id, 0, 100).await.unwrap();
        let tells = |event: &Event| match event.body {
            EventBody::AgentStatus { status, .. } => status == Status::Running,
            EventBody::Item { .. } => true,
            _ => false,
        };
        events.into_iter().filter(tells).count()
    };
    let before = beside().await;
    for times in 2..=3 {
        // Longer than it ever waits, and shorter than the first call may.
        world.clock().advance(Duration::from_secs(40));
        eventually("it has looked again", put_off, |now| *now >= Some(times)).await;
    }
    asleep_over_budget(&world, &second).await;
    assert_eq!(beside().await, before, "it was not at work, and its transcript has not changed");
    model.let_go(2);
    world.ended(first.id).await;
    world.clock().advance(Duration::from_secs(60));
    assert_eq!(world.ended(second.id).await.status, Status::Succeeded);
    let today = world.client().budget_today().await.unwrap().unwrap().budget;
    assert_eq!(
        (today.spent.tokens, today.presumed, today.reserved),
        (600, Amount::default(), Amount::default())
    );
    assert_eq!(world.audit().await, []);
}

/// The next process never had the kind, and the first that it does is to end what the last call had reserved.
#[tokio::test]
async fn a_reservation_is_settled_by_a_process_that_never_had_its_kind() {
    for action in [Action::Pause, Action::Delete] {
        let is_gone = Arc::new(AtomicBool::new(false));
        let gone = Arc::clone(&is_gone);
        let with_kinds = move |engine: entourage_engine::Builder| {
            let others = Kinds::none().with(bare("other"));
            engine.kinds(if gone.load(Ordering::Relaxed) { others } else { limited(1_000) })
        };
        let model = HeldModel::new(answering());
        let world = World::builder(model.clone()).engine(with_kinds).start().await;
        let root = world.ask("Go.").await;
        model.begun().await;
        is_gone.store(true, Ordering::Relaxed);
        world.faults().kill();
        let world = world.restart(Faults::default()).await;
        person(&world).intervene(root.id, action, None).await.unwrap();
        let reserved = async || {
            let budget = world.store().budget(&Scope::All, &BudgetId::Tree(root.id)).await.unwrap();
            budget.unwrap().reserved
        };
        eventually("nothing is reserved", reserved, Amount::is_zero).await;
    }
}

/// A model for little money and one for much.
#[derive(Clone)]
struct TwoPrices(ScriptedModel);

#[async_trait::async_trait]
impl entourage_llm::Model for TwoPrices {
    async fn call(
        &self,
        request: Request,
        deltas: &mut dyn entourage_llm::Deltas,
    ) -> entourage_llm::Result<entourage_llm::Reply> {
        self.0.call(request, deltas).await
    }

    fn describe(&self) -> String {
        "two prices".into()
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        let each = if model == Some("test::dear") { 1_000_000 } else { 1 };
        Some(Cost::from_nanos(usage.tokens() * each))
    }
}

/// While the first model pauses, a second one that the budget does not hold keeps nobody from the first.
#[tokio::test]
async fn a_fallback_that_the_budget_does_not_hold_leaves_the_first_model() {
    let pauses = || ModelError::RateLimited { model: "m".into(), retry_after: Some(Duration::from_secs(60)) };
    let model = ScriptedModel::new([]);
    model.push(Err(pauses()));
    model.push(Ok(Script::text("done")));
    let limits =
        Limits { max_tree_cost: Some(dollars("$0.1")), max_answer_tokens: Some(100), ..Limits::default() };
    let kinds = one_kind(|kind| {
        kind.limits = limits;
        (kind.model, kind.fallback) = (Some("test::cheap".into()), vec!["test::dear".into()]);
    });
    let world = World::builder(TwoPrices(model.clone())).kinds(kinds).start().await;
    let root = world.ask("Go.").await;
    asleep_over_budget(&world, &root).await;
    let why = world.client().why(root.id).await.unwrap();
    assert!(matches!(why.cause(), Cause::Retry { .. }), "{why:?}");
    world.clock().advance(Duration::from_secs(65));
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let asked: Vec<_> = model.requests().into_iter().map(|request| request.model).collect();
    assert_eq!(asked, [Some("test::cheap".to_owned()), Some("test::cheap".to_owned())]);
    let items = world.client().items(root.id, 0, 100).await.unwrap();
    assert!(!items.iter().any(|item| matches!(item.body, ItemBody::Notice(_))), "{items:?}");
}
