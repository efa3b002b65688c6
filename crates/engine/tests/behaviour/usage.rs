//! Usage adds up: over any tree, through crashes, retries, midnight and discarded answers.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::kit::{
    FakeClockExt, TestTool, WorldBuilderExt, WorldExt, death_of, first_tools, one_kind, within,
};
use entourage_engine::{NewAgent, UsageQuery};
use entourage_llm::{Message, Price, Request, Script, ScriptedModel};
use entourage_store::{Commit, Page, Write};
use entourage_testkit::{Fact, Fault, Faults, World, plain};
use entourage_tools::{Effect, Outcome, Toolbox};
use entourage_types::{
    Agent, AgentId, Cost, EventBody, Item, ItemBody, Limits, ModelUse, Run, RunId, Status, StopReason, Tally,
    Usage, UsageBy, UsageRow,
};
use serde_json::json;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A chat that lasts for years has more runs than one page.
#[tokio::test]
async fn the_usage_of_a_tree_sums_more_runs_than_one_page() {
    const RUNS: u64 = 10_001;
    let world = World::scripted(&ScriptedModel::new([]), first_tools()).await;
    let root = world.client().create(NewAgent::default(), None).await.unwrap();
    let agent = world.store().claim(root.id, 0).await.unwrap().unwrap().agent;
    let used = ModelUse { model: "m".into(), usage: Usage { input: 3, ..Usage::default() }, cost: None };
    let run = |_| {
        let mut run = ended_run(&agent);
        run.charge(&used, root.created);
        Write::Run(run)
    };
    let commit = Commit { writes: (0..RUNS).map(run).collect(), ..Commit::fenced(&agent, root.created) };
    world.store().commit(commit).await.unwrap();
    let found = world.client().tree_usage(root.id).await.unwrap();
    assert_eq!((found.runs, found.total().calls, found.total().usage.input), (RUNS, RUNS, 3 * RUNS));
    assert_eq!(world.client().tree_runs(root.id).await.unwrap().len() as u64, RUNS);
}

fn ended_run(agent: &Agent) -> Run {
    Run {
        id: RunId::new(),
        agent: agent.id,
        owner: agent.owner.clone(),
        status: Status::Succeeded,
        waiting_on: None,
        stop_reason: Some(StopReason::Completed),
        error: None,
        kind_version: String::new(),
        switches: Default::default(),
        tasks: Vec::new(),
        model_calls: 1,
        worked_ms: 0,
        usage: Usage::default(),
        cost: Cost::default(),
        spent: Vec::new(),
        started: agent.created,
        ended: Some(agent.created),
    }
}

fn price() -> Price {
    Price { input: 3.0, output: 15.0, cached: Some(0.3), cache_written: None }
}

/// A number that looks random and is always the same for the same text.
fn stable_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(7)
    })
}

/// The usage of every answer of the model, each of them distinct.
#[derive(Clone, Default)]
struct Answered(Arc<Mutex<Vec<Usage>>>);

impl Answered {
    fn all(&self) -> Vec<Usage> {
        self.0.lock().unwrap().clone()
    }
}

/// Agents that create agents, two levels deep at most, randomly by this seed. Some answers are
/// discarded at first.
fn model_of_a_tree(seed: u64, answered: &Answered) -> ScriptedModel {
    let answered = answered.clone();
    let cut_off = Mutex::new(HashSet::new());
    let answer = move |request: &Request| {
        let Some(Message::User(first)) = request.messages.first() else {
            return Script::text("nothing to do");
        };
        let level = first.chars().filter(|c| *c == '/').count();
        let said = request.messages.len();
        let place = format!("{seed} {first} {said}");
        let roll = stable_hash(&place);
        let usage = {
            let mut all = answered.0.lock().unwrap();
            let number = all.len() as u64;
            let usage = Usage {
                input: roll % 5_000 + 11,
                output: number * 7 + 1,
                cached: roll % 11,
                ..Usage::default()
            };
            all.push(usage);
            usage
        };
        let task = format!("{first}/{said}");
        let script = match roll % 4 {
            _ if level >= 2 || said > 6 => Script::text("done"),
            0 => Script::text("done"),
            1 => Script::call("spawn_agent", json!({"kind": "assistant", "task": task})),
            2 => Script::call("send_message", json!({"recipient": "assistant", "message": task})),
            _ => Script::call("create_note", json!({"title": "t", "content": "c"}))
                .and_call("spawn_agent", json!({"kind": "assistant", "task": task})),
        };
        let script = script.using(usage);
        let first_time = cut_off.lock().unwrap().insert(place);
        if roll.is_multiple_of(5) && first_time { script.cut_off() } else { script }
    };
    ScriptedModel::deciding(move |request| Some(Ok(answer(request)))).priced(price())
}

fn usages(items: &[Item]) -> impl Iterator<Item = Usage> {
    items.iter().filter_map(|item| match &item.body {
        ItemBody::Turn(turn) => turn.used.as_ref().map(|used| used.usage),
        _ => None,
    })
}

/// Each commit that counts usage counts answers that the model gave, none of them twice: those of
/// the turns that it contains, and at most one discarded answer.
fn assert_each_answer_is_charged_once(world: &World, answers: &[Usage]) {
    let mut left = answers.to_vec();
    let mut take = |used: Usage| {
        let at = left.iter().position(|answer| *answer == used);
        left.remove(at.unwrap_or_else(|| panic!("{used:?} is no answer, or is counted twice")));
    };
    let mut counted: HashMap<RunId, Usage> = HashMap::new();
    for fact in world.witness().facts() {
        let Fact::Committed(commit) = fact else { continue };
        let brought: Vec<Item> = commit
            .writes
            .iter()
            .filter_map(|write| if let Write::Item(item) = write { Some(item.clone()) } else { None })
            .collect();
        let brought: Vec<Usage> = usages(&brought).collect();
        let turns: Usage = brought.iter().copied().sum();
        brought.into_iter().for_each(&mut take);
        let rows = commit.writes.iter().filter_map(|write| match write {
            Write::Run(run) => Some((run.id, run.usage)),
            _ => None,
        });
        for (run, usage) in rows.collect::<HashMap<_, _>>() {
            let before = counted.insert(run, usage).unwrap_or_default();
            let beside = Usage {
                input: usage.input - before.input - turns.input,
                output: usage.output - before.output - turns.output,
                cached: usage.cached - before.cached - turns.cached,
                ..Usage::default()
            };
            if beside != Usage::default() {
                take(beside);
            }
        }
    }
}

/// Grows the tree of this seed with this fault to its end. Returns how many commits there were.
async fn grow_tree(seed: u64, fault: Option<(u64, Fault)>) -> u64 {
    let answered = Answered::default();
    let limits = Limits { max_tokens: u64::MAX, ..Limits::default() };
    let kinds = one_kind(|kind| (kind.peers, kind.limits) = (vec!["assistant".into()], limits));
    let builder = World::builder(model_of_a_tree(seed, &answered)).tools(first_tools()).kinds(kinds);
    let mut world = builder.start().await;
    let faults = world.faults().clone();
    if let Some((at, fault)) = fault {
        faults.plan(at, fault);
    }
    let root = world.ask("go").await;
    let client = world.client();
    // Until no work is left.
    let over = async |world: &World| {
        world.clock().advance(Duration::from_secs(1));
        tokio::task::yield_now().await;
        let tree = world.client().tree(root.id).await.unwrap();
        let due = world
            .store()
            .due(world.client().agent(root.id).await.unwrap().updated + DAY * 365, None, 1)
            .await;
        tree.iter().all(|agent| agent.status.is_terminal()) && due.unwrap().is_empty()
    };
    let (mut alive, begun) = (true, std::time::Instant::now());
    while !over(&world).await {
        assert!(begun.elapsed() < Duration::from_secs(30), "the tree of {seed} does not end: {fault:?}");
        if faults.is_dead() && alive {
            world = world.restart(Faults::default()).await;
            alive = false;
        }
    }

    let sums = async |query| client.usage(query).await.unwrap();
    let total = sums(UsageQuery::default()).await[0].tally;
    // The sum is the same, whatever it is added up by.
    for by in [UsageBy::Day, UsageBy::Model, UsageBy::Kind, UsageBy::Tree, UsageBy::Agent, UsageBy::Run] {
        let rows = sums(UsageQuery { by: vec![by, UsageBy::Owner], ..UsageQuery::default() }).await;
        assert_eq!(rows.iter().map(|row| row.tally).sum::<Tally>(), total, "by {by}");
    }
    let of_tree = sums(UsageQuery { root: Some(root.id), ..UsageQuery::default() }).await;
    assert_eq!(of_tree[0].tally, total);
    let runs = client.tree_runs(root.id).await.unwrap();
    let reported: Usage = runs.iter().map(|run| run.usage).sum();
    assert_eq!((reported, runs.iter().map(|run| run.tally()).sum()), (total.usage, total));

    // The answers in the transcripts are counted, and the discarded ones; none is counted twice,
    // and only answers under way at the moment of the fault may be missing.
    let mut kept = Vec::new();
    for agent in client.tree(root.id).await.unwrap() {
        kept.extend(usages(&client.items(agent.id, 0, 1000).await.unwrap()));
    }
    let all = answered.all();
    let lost = all.len() as u64 - total.calls;
    assert!(kept.iter().all(|usage| all.contains(usage)), "no answer is made up");
    assert!(kept.len() as u64 <= total.calls && total.unpriced == 0);
    let everything: Usage = all.iter().copied().sum();
    let missing = everything.tokens() - total.usage.tokens();
    let one_of = |usage: &Usage| usage.tokens() == missing;
    match lost {
        0 => assert_eq!(everything, total.usage),
        1 => assert!(fault.is_some() && all.iter().any(one_of), "one answer is missing, and it is one"),
        more => assert!(fault.is_some() && more <= 8, "{more} answers are missing"),
    }
    assert_each_answer_is_charged_once(&world, &all);
    // The price of a sum may differ from the sum of the prices by rounding.
    let rounded = price().of(&total.usage).unwrap().nanos().abs_diff(total.cost.nanos());
    assert!(rounded <= total.calls, "{rounded}");
    faults.commits()
}

/// Shows: INV-08.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_usage_of_a_tree_equals_the_sum_of_its_calls_across_crashes() {
    let faults = [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch];
    for seed in 0..12 {
        let commits = grow_tree(seed, None).await;
        for round in 0..4 {
            let roll = stable_hash(&format!("{seed} {round}"));
            let fault = faults[usize::try_from(roll % 3).unwrap()];
            grow_tree(seed, Some((roll / 3 % commits + 1, fault))).await;
        }
    }
}

async fn usage_by(world: &World, by: &[UsageBy]) -> Vec<UsageRow> {
    world.client().usage(UsageQuery { by: by.to_vec(), ..UsageQuery::default() }).await.unwrap()
}

#[tokio::test]
async fn a_discarded_answer_is_counted_even_if_the_process_then_dies() {
    let usage = Usage { input: 700, output: 90, ..Usage::default() };
    // A crash before the commit of the second answer: the next process asks again.
    let model = ScriptedModel::new([
        Script::text("It is").using(usage).cut_off(),
        Script::text("It is so."),
        Script::text("It is so."),
    ]);
    let world = World::builder(model.clone()).start_with(6, Fault::DieBefore).await;
    let root = world.ask("Is it?").await;
    // The pause before it asks again, and no longer: its claim must not expire.
    world.clock().advance_to_sleeper(Duration::from_secs(12)).await;
    within("it dies", death_of(world.faults())).await;
    let world = world.restart(Faults::default()).await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(model.requests().len(), 3);
    let run = world.client().runs(root.id, Page::default()).await.unwrap().remove(0);
    assert_eq!((run.model_calls, run.tally().calls), (1, 2), "one turn, two answers paid for");
    assert_eq!((run.usage.input, run.usage.output), (710, 95));
    assert_eq!(run.tally().unpriced, 2, "and nobody knows at what price");
}

#[tokio::test]
async fn an_answer_counts_on_the_day_it_arrived() {
    let model =
        ScriptedModel::new([Script::call("wait", json!({"seconds": 86_400})), Script::text("Morning.")]);
    let world = World::builder(model.priced(price())).tools(first_tools()).start().await;
    let root = world.ask("Sleep a day.").await;
    world.asleep(&root).await;
    world.clock().advance(DAY);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let days = usage_by(&world, &[UsageBy::Day]).await;
    let told: Vec<_> = days.iter().map(|row| (row.day.unwrap().to_string(), row.tally.calls)).collect();
    assert_eq!(told, [("2026-01-01".to_owned(), 1), ("2026-01-02".to_owned(), 1)], "one run, two days");
    // 10 tokens in at 3 dollars a million and 5 out at 15.
    assert_eq!(days[0].tally.cost.nanos(), 105_000);
}

#[tokio::test]
async fn the_usage_of_a_deleted_agent_stays_counted() {
    let model = ScriptedModel::new([Script::call("ask_user", json!({"question": "Which?"}))]);
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Go.").await;
    world.question(root.id).await;
    let before = usage_by(&world, &[UsageBy::Agent]).await;
    world.client().intervene(root.id, entourage_types::Action::Delete, None).await.unwrap();
    assert_eq!(usage_by(&world, &[UsageBy::Agent]).await, before);
    assert_eq!(before[0].tally.usage.input, 10);
}

/// A run under a limit of money with a model that never ends; each call costs 105,000 nanos, and
/// reads the earlier messages again.
async fn run_under_max_cost(limit: &str) -> (Option<StopReason>, Tally, usize, String) {
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::call("look", json!({}))))).priced(price());
    let look =
        TestTool::answering("look", Effect::Pure, &Default::default(), |_, _| Ok(Outcome::text("nothing")));
    let limits = Limits { max_cost: Some(limit.parse().unwrap()), ..Limits::default() };
    let kinds = one_kind(|kind| kind.limits = limits);
    let world = World::builder(model.clone()).tools(Toolbox::new().with(look)).kinds(kinds).start().await;
    let root = world.ask("Spend.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    let run = world.client().runs(root.id, Page::default()).await.unwrap().remove(0);
    let last = last_words(&world, root.id).await;
    (run.stop_reason, run.tally(), model.requests().len(), last)
}

async fn last_words(world: &World, agent: AgentId) -> String {
    plain(&world.client().items(agent, 0, 500).await.unwrap()).pop().unwrap()
}

#[tokio::test]
async fn max_cost_ends_a_run_before_the_call_that_would_exceed_it() {
    // A second call reads 15 tokens at least, which makes $0.00015.
    let (reason, tally, asked, said) = run_under_max_cost("$0.000149").await;
    assert_eq!((reason, asked), (Some(StopReason::MaxCost), 1));
    assert_eq!(tally.cost.nanos(), 105_000);
    assert!(said.starts_with("notice run_ended max_cost: $0.000105 was spent"), "{said}");
    assert!(said.contains("the next call costs $0.000045 or more; the limit is $0.000149"), "{said}");
    // With as many tokens as before, it makes $0.000225 with one more call, and $0.000345 with two.
    for (limit, calls) in [("$0.000150", 2), ("$0.000344", 2), ("$0.000345", 3)] {
        let (reason, _, asked, said) = run_under_max_cost(limit).await;
        assert_eq!((reason, asked), (Some(StopReason::MaxCost), calls), "{limit}");
        assert!(said.contains(&format!("the limit of {limit} leaves one more call")), "{said}");
    }
}

#[tokio::test]
async fn an_agent_with_max_cost_and_no_known_price_is_refused() {
    let limits = Limits { max_cost: Some("$1".parse().unwrap()), ..Limits::default() };
    let kinds = one_kind(|kind| kind.limits = limits);
    let world = World::builder(ScriptedModel::new([])).kinds(kinds).start().await;
    let refused =
        world.client().create(entourage_engine::NewAgent::default(), None).await.unwrap_err().to_string();
    assert!(refused.contains("$1.000000") && refused.contains("models.prices"), "{refused}");
    assert!(world.client().agents(None, Page::default()).await.unwrap().is_empty(), "nothing was made");
}

/// Impossible usage does not exhaust a limit: an estimate is counted, and the next message is
/// answered.
#[tokio::test]
async fn impossible_usage_is_replaced_by_an_estimate() {
    for input in [3_000_000, u64::MAX] {
        let absurd = Usage { input, output: 5, cached: input, ..Usage::default() };
        let model = ScriptedModel::new([Script::text("One.").using(absurd), Script::text("Two.")]);
        let world = World::builder(model).tools(first_tools()).kinds(one_kind(|_| {})).start().await;
        let root = world.ask("One?").await;
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
        let used = world.client().tree_usage(root.id).await.unwrap().total().usage;
        assert!((1..100_000).contains(&used.tokens()) && used.cached == 0, "{used:?}");
        world.client().send(root.id, "Two?", None).await.unwrap();
        world.until(root.id, |event| matches!(event.body, EventBody::Item { item_seq: 3, .. })).await;
        assert_eq!(plain(&world.client().items(root.id, 0, 10).await.unwrap())[3], "turn: Two.[]");
    }
}
