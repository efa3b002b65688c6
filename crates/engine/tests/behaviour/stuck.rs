//! Nothing stays stuck: silent activations are stopped and retried, and runs that go round in
//! circles end with an honest reason.

use std::{future::pending, time::Duration};

use crate::kit::{
    Effects, TestTool, WorldBuilderExt, WorldExt, at_once, bare, first_tools, one_kind, within,
};
use async_trait::async_trait;
use entourage_engine::{HealthPolicy, NewAgent};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{Fault, HeldModel, World, plain};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool, Toolbox};
use entourage_types::{
    Agent, Answer, Event, EventBody, HealthAct, Kind, Limits, Owner, Run, Status, StopReason, ToolSpec,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// A tool that never returns; it signals when it begins.
struct Never {
    effect: Effect,
    begun: mpsc::UnboundedSender<()>,
}

fn never(effect: Effect) -> (Never, mpsc::UnboundedReceiver<()>) {
    let (begun, heard) = mpsc::unbounded_channel();
    (Never { effect, begun }, heard)
}

#[async_trait]
impl Tool for Never {
    fn name(&self) -> &'static str {
        "never"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let parameters = json!({"type": "object", "properties": {}});
        Some(ToolSpec::new("never", "Never ends.", parameters))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        let _ = self.begun.send(());
        pending().await
    }
}

async fn run_of(world: &World, agent: &Agent) -> Run {
    world.client().runs(agent.id, Page::default()).await.unwrap().remove(0)
}

async fn transcript(world: &World, agent: &Agent) -> Vec<String> {
    let items = world.client().items(agent.id, 0, 500).await.unwrap();
    plain(&items)
}

/// Lets every woken task go as far as it can, on the single thread of the test.
pub(crate) async fn let_every_task_run() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}

/// Lets time pass until the agent has ended.
async fn ended_while_time_passes(world: &World, root: &Agent) -> Agent {
    let passing = async {
        loop {
            world.clock().advance(Duration::from_secs(1));
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ended = world.ended(root.id) => ended,
        () = passing => unreachable!("time never ends"),
    }
}

#[tokio::test]
async fn a_model_call_that_times_out_is_retried() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Here I am.")]));
    let kinds = one_kind(|kind| kind.limits.model_seconds = 30);
    let world = World::builder(model.clone()).kinds(kinds).start().await;
    let root = world.ask("Are you there?").await;
    model.begun().await;
    world.clock().advance(Duration::from_secs(29));
    let_every_task_run().await;
    assert_eq!(model.cut_off(), 0);
    world.clock().advance(Duration::from_secs(1));
    let again = async {
        model.begun().await;
        model.let_go(1);
        pending::<()>().await;
    };
    let ended = tokio::select! {
        ended = ended_while_time_passes(&world, &root) => ended,
        () = again => unreachable!("it waits for the end"),
    };
    assert_eq!((ended.status, model.cut_off()), (Status::Succeeded, 1));
}

#[tokio::test]
async fn a_tool_call_that_never_returns_times_out_and_the_run_continues() {
    let (tool, mut begun) = never(Effect::Pure);
    let model = ScriptedModel::new([Script::call("never", json!({})), Script::text("Without it.")]);
    let world = World::builder(model).tools(Toolbox::new().with(tool)).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Try.").await;
    within("it is called", begun.recv()).await;
    world.clock().advance(Duration::from_secs(120));
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert!(transcript(&world, &root).await[2].contains("no result after 120 s"));
}

#[tokio::test]
async fn an_unsafe_tool_call_that_times_out_becomes_a_question() {
    let (tool, mut begun) = never(Effect::Unsafe);
    let model = ScriptedModel::new([Script::call("never", json!({})), Script::text("As you say.")]);
    let world = World::builder(model).tools(Toolbox::new().with(tool)).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Try.").await;
    within("it is called", begun.recv()).await;
    world.clock().advance(Duration::from_secs(120));
    let question = world.question(root.id).await;
    assert!(question.text.contains("may or may not have taken effect"), "{}", question.text);
    world.client().answer(question.id, Answer::Text("It happened.".into())).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(transcript(&world, &root).await[2], "output: It happened.");
    assert!(begun.try_recv().is_err(), "it was not called again");
}

#[tokio::test]
async fn a_hung_activation_is_stopped_frees_its_place_and_is_retried() {
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("Done."))));
    let builder = World::builder(model).kinds(one_kind(|_| {})).dispatchers(at_once(1));
    let world = builder.start_with(1, Fault::Hang).await;
    let root = world.ask("Begin.").await;
    within("the first commit begins", async {
        while world.faults().commits() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let other = world.ask("And you?").await;
    assert_eq!(
        ended_while_time_passes(&world, &other).await.status,
        Status::Succeeded,
        "the one place is free again"
    );
    assert_eq!(ended_while_time_passes(&world, &root).await.status, Status::Succeeded);
    assert_eq!(transcript(&world, &root).await, ["message: Begin.", "turn: Done.[]"]);
}

/// Shows: S4-R123.
#[tokio::test]
async fn an_activation_of_thirty_minutes_ends_its_run_with_max_time() {
    let (tool, mut begun) = never(Effect::Pure);
    let model = ScriptedModel::new([Script::call("never", json!({}))]);
    let patient = |kind: &mut Kind| {
        kind.limits = Limits { tool_seconds: 100_000, max_seconds: 100_000, ..Limits::default() };
    };
    let builder = World::builder(model).tools(Toolbox::new().with(tool)).kinds(one_kind(patient));
    let world = builder.store(MemoryStore::default()).start().await;
    let root = world.ask("Try.").await;
    within("it is called", begun.recv()).await;
    world.clock().advance(Duration::from_secs(1799));
    let_every_task_run().await;
    assert_eq!(world.client().agent(root.id).await.unwrap().status, Status::Running);
    world.clock().advance(Duration::from_secs(1));
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    let run = run_of(&world, &root).await;
    assert_eq!(run.stop_reason, Some(StopReason::MaxTime));
    assert!(run.error.is_some_and(|error| error.contains("30 minutes")));
    assert_eq!(transcript(&world, &root).await.len(), 4, "its call is answered for");
}

/// The time of an activation is a setting, and the next round of health reports that it was over.
///
/// Shows: S4-R123.
#[tokio::test]
async fn an_activation_that_was_at_work_for_too_long_is_reported_once() {
    let (tool, mut begun) = never(Effect::Pure);
    let model = ScriptedModel::new([Script::call("never", json!({}))]);
    let patient = |kind: &mut Kind| {
        kind.limits = Limits { tool_seconds: 100_000, max_seconds: 100_000, ..Limits::default() };
    };
    let minute = Duration::from_secs(60);
    let policy = HealthPolicy { at_work: minute, ..HealthPolicy::default() };
    let builder = World::builder(model).tools(Toolbox::new().with(tool)).kinds(one_kind(patient));
    let builder = builder.store(MemoryStore::default()).engine(move |engine| engine.health(policy));
    let world = builder.start().await;
    let root = world.ask("Try.").await;
    within("it is called", begun.recv()).await;
    world.clock().advance(minute);
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    let operator = world.engine().client(Owner::local());
    let look = operator.run_health(true).await.unwrap().reports;
    assert_eq!((look.len(), look[0].agent, look[0].what), (1, root.id, HealthAct::Cut));
    assert!(look[0].why.starts_with("it was at work for 1 minute without a pause until 2026-"), "{look:?}");
    assert_eq!(operator.run_health(false).await.unwrap().reports, look, "a look takes nothing away");
    assert_eq!(operator.run_health(false).await.unwrap().reports, []);
}

/// Runs a model that decides by the number of its turn; returns the run and its transcript.
async fn run_scripted_turns(turns: fn(usize) -> Script, tool: TestTool) -> (Run, Vec<String>) {
    let turn = std::sync::atomic::AtomicUsize::new(0);
    let model = ScriptedModel::deciding(move |_: &Request| {
        Some(Ok(turns(turn.fetch_add(1, std::sync::atomic::Ordering::SeqCst))))
    });
    let world = World::builder(model).tools(Toolbox::new().with(tool)).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await;
    world.ended(root.id).await;
    (run_of(&world, &root).await, transcript(&world, &root).await)
}

#[tokio::test]
async fn repeating_the_same_calls_with_the_same_outputs_stalls_a_run() {
    let look = || TestTool::new("look", Effect::Pure, &Effects::default());
    let (run, items) = run_scripted_turns(|_| Script::call("look", json!({"n": 1})), look()).await;
    assert_eq!((run.stop_reason, run.model_calls), (Some(StopReason::Stalled), 5), "the last word included");
    assert!(
        items.last().unwrap().starts_with("notice run_ended stalled: calling `look` in the same way"),
        "{items:?}"
    );
    let (run, _) = run_scripted_turns(|n| Script::call("look", json!({"n": n % 2})), look()).await;
    assert_eq!((run.stop_reason, run.model_calls), (Some(StopReason::Stalled), 9), "in a larger circle");
    let (run, _) = run_scripted_turns(
        |n| match n {
            0..=5 => Script::call("look", json!({"n": n})),
            _ => Script::text("Found."),
        },
        look(),
    )
    .await;
    assert_eq!(run.stop_reason, Some(StopReason::Completed), "who gets on is left alone");
}

#[tokio::test]
async fn repeating_the_same_error_stalls_a_run() {
    let broken = TestTool::answering("look", Effect::Pure, &Effects::default(), |_, _| {
        Err(Error::Failed("the disk is on fire".into()))
    });
    let (run, items) = run_scripted_turns(|n| Script::call("look", json!({"n": n})), broken).await;
    assert_eq!((run.stop_reason, run.model_calls), (Some(StopReason::Stalled), 5));
    assert!(items.last().unwrap().contains("the same error: the disk is on fire"), "{items:?}");
}

#[tokio::test]
async fn two_agents_that_repeat_the_same_exchange_stall() {
    // Each result opens a run of its own, in which the orchestrator delegates the same work again:
    // no limit of a single run is ever reached.
    let model = ScriptedModel::deciding(|request: &Request| {
        let worker = request.system.contains("You are the Researcher");
        Some(Ok(match request.messages.last() {
            _ if worker => Script::text("No, yours."),
            Some(Message::User(_) | Message::Notice(_)) => {
                Script::call("spawn_agent", json!({"kind": "researcher", "task": "Your turn."}))
            }
            _ => Script::text("Now I wait."),
        }))
    });
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Play.").await;
    let failed = |event: &Event| {
        event.agent == root.id && matches!(event.body, EventBody::AgentStatus { status: Status::Failed, .. })
    };
    world.until(root.id, failed).await;
    let runs = world.client().runs(root.id, Page::default()).await.unwrap();
    let last = runs.last().unwrap();
    assert_eq!(last.stop_reason, Some(StopReason::Stalled));
    assert!(last.error.as_ref().unwrap().contains("exchanged the same messages 4 times"), "{:?}", last.error);
    assert_eq!(world.client().tree(root.id).await.unwrap().len(), 5, "four workers and no more");
}

#[tokio::test]
async fn a_stalled_sub_agent_reports_the_reason_to_its_parent() {
    let look = TestTool::new("look", Effect::Pure, &Effects::default());
    let model = ScriptedModel::deciding(|request: &Request| {
        Some(Ok(match (request.system.starts_with("Work."), request.messages.last()) {
            (true, _) => Script::call("look", json!({"n": 1})),
            (false, Some(Message::User(_))) => {
                Script::call("send_message", json!({"recipient": "worker", "message": "Look."}))
            }
            _ => Script::text("It did not work."),
        }))
    });
    let worker = Kind { instructions: "Work.".into(), ..bare("worker") };
    let kinds = one_kind(|kind| kind.peers = vec!["worker".into()]).with(worker);
    let world = World::builder(model).tools(first_tools().with(look)).kinds(kinds).start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let items = transcript(&world, &root).await;
    assert!(items[2].starts_with("output!: calling `look`"), "{items:?}");
}

/// A kind that creates more of itself on every message.
fn bomb(limits: Limits) -> Kind {
    let peers = vec!["bomb".to_owned()];
    Kind { instructions: "Multiply.".into(), peers, limits, ..bare("bomb") }
}

/// How many agents are at work at once beside a bomb.
const PLACES: usize = 4;

#[tokio::test]
async fn a_fork_bomb_is_stopped_by_its_limits_while_others_are_served() {
    let model = ScriptedModel::deciding(|request: &Request| {
        let bomb = request.system.starts_with("Multiply.");
        let n = request.messages.len();
        Some(Ok(match bomb {
            true => Script::call("spawn_agent", json!({"kind": "bomb", "task": format!("Multiply {n}.")}))
                .and_call("spawn_agent", json!({"kind": "bomb", "task": format!("Multiply {n} again.")})),
            false => Script::text("At your service."),
        }))
    });
    let limits = Limits { max_tree: 60, max_depth: 4, ..Limits::default() };
    let kinds = one_kind(|_| {}).with(bomb(limits));
    let world = World::builder(model.clone())
        .tools(first_tools())
        .kinds(kinds)
        .dispatchers(at_once(PLACES))
        .start()
        .await;
    let new = NewAgent { kind: Some("bomb".into()), message: Some("Go.".into()), ..NewAgent::default() };
    let root = world.client().create(new, None).await.unwrap();
    within("twenty requests come", async {
        while model.requests().len() < 20 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let quiet = world.engine().client(entourage_types::Owner::new("quiet"));
    let other =
        quiet.create(NewAgent { message: Some("Hello?".into()), ..NewAgent::default() }, None).await.unwrap();
    // From here on it is the dispatcher's turn, which may have served it already.
    let before = model.requests().len();
    let served = || model.requests().iter().position(|request| !request.system.starts_with("Multiply."));
    within("the other is served", async {
        while served().is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // Those that have their places go on with all their calls; of those that wait, hardly one comes before the other.
    let is_first = |request: &&Request| {
        !request.messages.iter().any(|message| matches!(message, Message::Output { .. }))
    };
    let come = model.requests().iter().take(served().unwrap()).skip(before).filter(is_first).count();
    assert!(come <= PLACES, "{come} agents of the bomb came before");
    within("the other has its answer", async {
        while !quiet.agent(other.id).await.unwrap().status.is_terminal() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // The tree stops growing, every run ends, and no agent is deeper than allowed.
    let tree = at_rest(&world, &root).await;
    assert!(tree.len() <= 60, "{} agents", tree.len());
    assert!(tree.iter().all(|agent| agent.depth <= 4));
    let mut refusals = Vec::new();
    for agent in &tree {
        refusals
            .extend(transcript(&world, agent).await.into_iter().filter(|line| line.starts_with("output!")));
    }
    assert!(refusals.iter().any(|line| line.contains("the limit is 60")), "{refusals:?}");
    assert!(world.inconsistencies().await.is_empty());
}

/// Unless a kind sets its own limit, a tree has two hundred agents and not one more.
#[tokio::test]
async fn a_tree_has_at_most_two_hundred_agents_by_default() {
    let model = ScriptedModel::deciding(|request: &Request| {
        let spawn = |script: Script, n: u32| {
            script.and_call("spawn_agent", json!({"kind": "bomb", "task": format!("Multiply {n}.")}))
        };
        Some(Ok(match request.messages.len() {
            1 => (0..4).fold(Script::text(""), spawn),
            _ => Script::text("Multiplied."),
        }))
    });
    let kinds = entourage_engine::Kinds::none().with(bomb(Limits::default()));
    let builder = World::builder(model).tools(first_tools()).kinds(kinds).dispatchers(at_once(4));
    let world = builder.store(MemoryStore::default()).start().await;
    let root = world.ask("Go.").await;
    at_rest(&world, &root).await;
    // Down to the deepest level it would be more than a thousand.
    assert_eq!(world.client().tree(root.id).await.unwrap().len(), 200);
}

/// Returns the tree once every run of it has ended and no wake-up is due.
async fn at_rest(world: &World, root: &Agent) -> Vec<Agent> {
    within("the tree comes to rest", async {
        loop {
            let tree = world.client().tree(root.id).await.unwrap();
            let due = world.store().due(entourage_types::Time::from_micros(i64::MAX), None, 1).await.unwrap();
            if due.is_empty() && tree.iter().all(|agent| agent.status.is_terminal()) {
                return tree;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_delegation_that_would_close_a_wait_cycle_is_refused() {
    let model = ScriptedModel::deciding(|request: &Request| {
        let other = if request.system.starts_with("Ping.") { "pong" } else { "ping" };
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) => {
                Script::call("send_message", json!({"recipient": other, "message": "You."}))
            }
            Some(Message::Output { text, .. }) => Script::text(text.clone()),
            _ => Script::text("unexpected"),
        }))
    });
    let one = |name: &str, instructions: &str, peer: &str| Kind {
        instructions: instructions.into(),
        peers: vec![peer.into()],
        ..bare(name)
    };
    let kinds = one_kind(|kind| kind.peers = vec!["ping".into()])
        .with(one("ping", "Ping.", "pong"))
        .with(one("pong", "Pong.", "ping"));
    let world = World::builder(model).tools(first_tools()).kinds(kinds).start().await;
    let root = world.ask("Go.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let tree = world.client().tree(root.id).await.unwrap();
    assert_eq!(tree.len(), 4, "the last would write to one that waits for it");
    assert!(transcript(&world, &root).await[2].contains("waits for an answer from this conversation"));
}
