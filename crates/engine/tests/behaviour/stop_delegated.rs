//! A stop ends all open tasks that an agent gave, also those of runs that have ended.

use crate::{
    chat::{cast, start},
    kit::{WorldExt, bare, first_tools},
};
use entourage_engine::{Cause, Client, Error, Kinds};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Fault, Faults, World, plain};
use entourage_types::{
    Action, Agent, Intervention, InterventionStatus, Kind, Owner, Run, Status, StopReason, TaskResult,
};
use serde_json::json;

fn person(world: &World) -> Client {
    world.engine().client(Owner::local())
}

fn kinds() -> Kinds {
    let boss = Kind { instructions: "You are boss.".into(), peers: vec!["worker".into()], ..bare("boss") };
    Kinds::none().with(boss).with(Kind { instructions: "You are worker.".into(), ..bare("worker") })
}

/// The boss gives two tasks and ends its run; what it is asked then takes it long. One worker takes long, the other
/// answers at once.
fn decide(request: &Request) -> Script {
    let waits = || Script::call("wait", json!({"seconds": 80_000}));
    let is_boss = request.system.starts_with("You are boss.");
    match request.messages.last() {
        Some(Message::User(text)) if is_boss && text == "Delegate." => {
            let task = |task: &str| json!({"kind": "worker", "task": task});
            Script::call("spawn_agent", task("long")).and_call("spawn_agent", task("short"))
        }
        Some(Message::User(text)) if text.contains("short") => Script::text("Done."),
        Some(Message::User(_)) => waits(),
        _ => Script::text("Under way."),
    }
}

/// A boss at rest whose two workers have yet to begin. Agents work only when the test advances them.
async fn delegated() -> (World, ScriptedModel, [Agent; 3]) {
    let model = ScriptedModel::deciding(|request| Some(Ok(decide(request))));
    let builder = World::builder(model.clone()).tools(first_tools()).kinds(kinds());
    let world = builder.dispatchers([]).start().await;
    let boss = world.ask_kind(Some("boss"), "Delegate.").await;
    world.engine().advance(boss.id).await.unwrap();
    let tree: [Agent; 3] = world.client().tree(boss.id).await.unwrap().try_into().unwrap();
    assert_eq!(tree[0].status, Status::Succeeded);
    (world, model, tree)
}

/// Lets every agent of the tree do what it can.
async fn settle(world: &World, root: &Agent) {
    for _ in 0..3 {
        for agent in world.client().tree(root.id).await.unwrap() {
            // The store of a process that dies is closed.
            drop(world.engine().advance(agent.id).await);
        }
    }
}

async fn stop(world: &World, agent: &Agent) -> Result<Intervention, Error> {
    person(world).intervene(agent.id, Action::Stop, None).await
}

/// The statuses of the tasks, in the order of their workers.
async fn tasks(world: &World, root: &Agent) -> Vec<Status> {
    let mut tasks = world.client().tasks(Some(root.id), None, Page::default()).await.unwrap();
    tasks.sort_by_key(|task| task.to);
    tasks.iter().map(|task| task.status).collect()
}

async fn runs(world: &World, agent: &Agent) -> Vec<Run> {
    world.client().runs(agent.id, Page::default()).await.unwrap()
}

/// Nothing of the tree is at work or will begin anything.
async fn is_stopped(world: &World, root: &Agent) {
    for agent in world.client().tree(root.id).await.unwrap() {
        assert!(agent.status.is_terminal(), "{agent:?}");
        assert_eq!(world.store().inbox(agent.id).await.unwrap(), []);
    }
    let interventions = world.client().interventions(root.id, Page::default()).await.unwrap();
    assert!(interventions.iter().all(|done| done.status == InterventionStatus::Applied), "{interventions:?}");
    assert_eq!(world.inconsistencies().await, [""; 0]);
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_stop_of_an_agent_at_rest_stops_the_agents_that_work_for_it() {
    let (world, model, [boss, long, short]) = delegated().await;
    world.engine().advance(long.id).await.unwrap();
    stop(&world, &boss).await.unwrap();
    let asked = model.requests().len();
    settle(&world, &boss).await;
    // No model is asked again: the short task had not begun.
    assert_eq!(model.requests().len(), asked);
    assert_eq!(tasks(&world, &boss).await, [Status::Cancelled; 2]);
    for worker in [&long, &short] {
        let worker = world.client().agent(worker.id).await.unwrap();
        assert_eq!(worker.stop_reason, Some(StopReason::Cancelled));
    }
    assert_eq!(runs(&world, &boss).await.len(), 1, "it rests as before");
    is_stopped(&world, &boss).await;
    let again = stop(&world, &boss).await;
    assert!(matches!(again, Err(Error::NotNow { .. })), "{again:?}");
}

#[tokio::test]
async fn a_stop_of_an_agent_at_work_stops_what_its_earlier_runs_delegated() {
    let (world, _, [boss, long, _]) = delegated().await;
    world.engine().advance(long.id).await.unwrap();
    person(&world).send(boss.id, "Work.", None).await.unwrap();
    world.engine().advance(boss.id).await.unwrap();
    stop(&world, &boss).await.unwrap();
    settle(&world, &boss).await;
    assert_eq!(tasks(&world, &boss).await, [Status::Cancelled; 2]);
    let runs = runs(&world, &boss).await;
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().any(|run| run.stop_reason == Some(StopReason::Cancelled)), "{runs:?}");
    is_stopped(&world, &boss).await;
}

/// A worker ends between the request to stop and the moment at which the agent reads it.
#[tokio::test]
async fn a_result_that_arrives_while_an_agent_is_stopped_begins_no_run() {
    for is_at_work in [false, true] {
        let (world, model, [boss, long, short]) = delegated().await;
        world.engine().advance(long.id).await.unwrap();
        if is_at_work {
            person(&world).send(boss.id, "Work.", None).await.unwrap();
            world.engine().advance(boss.id).await.unwrap();
        }
        stop(&world, &boss).await.unwrap();
        world.engine().advance(short.id).await.unwrap();
        let asked = model.requests().len();
        settle(&world, &boss).await;
        assert_eq!(model.requests().len(), asked, "no model is asked about it");
        assert_eq!(tasks(&world, &boss).await, [Status::Cancelled, Status::Succeeded]);
        assert_eq!(runs(&world, &boss).await.len(), 2, "the result joins the run that the stop ended");
        let items = plain(&world.client().items(boss.id, 0, 100).await.unwrap());
        let end = &items[items.len() - 2..];
        assert_eq!(end, ["message: Done.", "notice run_ended cancelled: stopped before it was done"]);
        is_stopped(&world, &boss).await;
    }
}

/// What is said after the stop is answered, and no worker is stopped with a message that is withdrawn.
#[tokio::test]
async fn a_message_after_the_stop_is_answered_and_a_withdrawn_one_stops_its_own_work_alone() {
    let (world, _, [boss, long, _]) = delegated().await;
    world.engine().advance(long.id).await.unwrap();
    let sent = person(&world).send(boss.id, "Work.", None).await.unwrap();
    world.engine().advance(boss.id).await.unwrap();
    person(&world).withdraw(boss.id, sent.post).await.unwrap();
    world.engine().advance(boss.id).await.unwrap();
    assert_eq!(tasks(&world, &boss).await, [Status::Queued; 2]);
    stop(&world, &boss).await.unwrap();
    person(&world).send(boss.id, "Be short.", None).await.unwrap();
    settle(&world, &boss).await;
    assert_eq!(tasks(&world, &boss).await, [Status::Cancelled; 2]);
    let items = plain(&world.client().items(boss.id, 0, 100).await.unwrap());
    assert_eq!(items[items.len() - 2..], ["message: Be short.", "turn: Done.[]"]);
}

#[tokio::test]
async fn a_stop_of_an_orchestrator_stops_its_sub_agents() {
    let model = cast(&ScriptedModel::new([start("dig")]), |_| {
        Ok(Script::call("ask_user", json!({"question": "Where?"})))
    });
    let world = World::builder(model).tools(first_tools()).dispatchers([]).start().await;
    let chat = world.ask_kind(Some("orchestrator"), "Dig.").await;
    settle(&world, &chat).await;
    assert_eq!(world.client().agent(chat.id).await.unwrap().status, Status::Succeeded);
    assert_eq!(tasks(&world, &chat).await, [Status::Queued]);
    stop(&world, &chat).await.unwrap();
    settle(&world, &chat).await;
    assert_eq!(tasks(&world, &chat).await, [Status::Cancelled]);
    is_stopped(&world, &chat).await;
}

/// Of what stands still below an agent at rest, what nobody works on is named before what waits for its time.
#[tokio::test]
async fn an_agent_at_rest_leads_to_what_stands_still_below_it() {
    let (world, _, [boss, long, _]) = delegated().await;
    let stands = async || {
        let why = world.client().why(boss.id).await.unwrap();
        let last = why.chain().last().unwrap().clone();
        (last.title, last.cause)
    };
    assert_eq!(stands().await, ("long".to_owned(), Cause::Process));
    world.engine().advance(long.id).await.unwrap();
    assert_eq!(stands().await, ("short".to_owned(), Cause::Process));
    settle(&world, &boss).await;
    let (title, cause) = stands().await;
    assert!(title == "long" && matches!(cause, Cause::Timer { .. }), "{title}: {cause:?}");
    stop(&world, &boss).await.unwrap();
}

/// Stops a boss with this fault at this commit of the stop, and returns how many commits there were.
async fn stop_with(is_at_work: bool, at: u64, fault: Fault) -> u64 {
    let case = format!("at work: {is_at_work}, {fault:?} at commit {at}");
    let (world, _, [boss, long, _]) = delegated().await;
    world.engine().advance(long.id).await.unwrap();
    if is_at_work {
        person(&world).send(boss.id, "Work.", None).await.unwrap();
        world.engine().advance(boss.id).await.unwrap();
    }
    let world = world.restart(Faults::default().plan(at, fault)).await;
    let faults = world.faults().clone();
    let works = async {
        drop(stop(&world, &boss).await);
        // It reads the stop before any worker goes on, also if its first attempt fails.
        for _ in 0..2 {
            drop(world.engine().advance(boss.id).await);
        }
        settle(&world, &boss).await;
    };
    let _ = faults.unless_dead(works).await;
    let commits = faults.commits();
    let world = world.restart(Faults::default()).await;
    let stops = world.client().interventions(boss.id, Page::default()).await.unwrap();
    let is_applied = stops.iter().any(|stop| stop.status == InterventionStatus::Applied);
    let open = tasks(&world, &boss).await.iter().filter(|task| !task.is_terminal()).count();
    assert!(open == 0 || open == 2 && !is_applied, "{case}: {open} tasks are open");
    if stops.is_empty() {
        stop(&world, &boss).await.unwrap();
    }
    settle(&world, &boss).await;
    let results = world.client().tasks(Some(boss.id), None, Page::default()).await.unwrap();
    let results: Vec<Option<TaskResult>> =
        results.into_iter().filter_map(|task| task.result).map(Some).collect();
    assert_eq!((tasks(&world, &boss).await, results), (vec![Status::Cancelled; 2], vec![]), "{case}");
    assert_eq!(runs(&world, &boss).await.len(), 1 + usize::from(is_at_work), "{case}");
    is_stopped(&world, &boss).await;
    commits
}

#[tokio::test]
async fn a_stop_of_all_that_an_agent_delegated_survives_a_crash_at_every_commit() {
    for is_at_work in [false, true] {
        let commits = stop_with(is_at_work, u64::MAX, Fault::DieBefore).await;
        assert!(commits >= 4, "{commits}");
        for at in 1..=commits {
            for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
                stop_with(is_at_work, at, fault).await;
            }
        }
    }
}
