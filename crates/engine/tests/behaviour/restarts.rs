//! A run that ends its process each time is ended after some restarts, and no other run with it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::kit::{FakeClockExt, death_of, within};
use async_trait::async_trait;
use entourage_engine::{Cause, Clock};
use entourage_llm::{Deltas, Error, Message, Model, Reply, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Fault, Faults, HeldModel, World};
use entourage_types::{Agent, AgentId, Scope, Status, StepKey, StopReason, WaitingOn};
use tokio::{
    sync::Semaphore,
    task::{JoinHandle, JoinSet},
};

/// How many consecutive restarts are counted before a run is ended, with the default settings.
const GIVE_UP_AFTER: usize = 5;

/// A model whose calls wait, and a world in which nothing works by itself.
async fn held_model_without_workers() -> (HeldModel, World) {
    let model = HeldModel::new(ScriptedModel::deciding(|_| Some(Ok(Script::text("Done.")))));
    let world = World::builder(model.clone()).dispatchers([]).start().await;
    (model, world)
}

/// Advances the agent until the process or its run ends.
fn spawn_advance(world: &World, agent: AgentId) -> JoinHandle<()> {
    let engine = world.engine().clone();
    tokio::spawn(async move { drop(engine.advance(agent).await) })
}

/// Kills the process while this is under way, and starts the next one two minutes later.
async fn kill_and_restart(world: World, under_way: impl IntoIterator<Item = JoinHandle<()>>) -> World {
    world.faults().kill();
    for work in under_way {
        work.abort();
        drop(work.await);
    }
    restart_two_minutes_later(world).await
}

/// Kills the process as often as a run may survive it, each time during a model call.
async fn kill_until_the_limit(mut world: World, model: &HeldModel, agent: &Agent) -> World {
    for _ in 0..GIVE_UP_AFTER {
        let work = spawn_advance(&world, agent.id);
        model.begun().await;
        world = kill_and_restart(world, [work]).await;
    }
    world
}

async fn restart_two_minutes_later(world: World) -> World {
    world.clock().advance(Duration::from_secs(120));
    world.restart(Faults::default()).await
}

async fn now(world: &World, agent: &Agent) -> Agent {
    world.client().agent(agent.id).await.unwrap()
}

#[tokio::test]
async fn a_run_that_kills_its_process_five_times_is_ended_as_failed() {
    let (model, mut world) = held_model_without_workers().await;
    let agent = world.ask("Take all memory.").await;
    world = kill_until_the_limit(world, &model, &agent).await;
    within("the run is ended", spawn_advance(&world, agent.id)).await.unwrap();
    let ended = now(&world, &agent).await;
    assert_eq!((ended.status, ended.stop_reason), (Status::Failed, Some(StopReason::Error)));
    let run = world.client().runs(agent.id, Default::default()).await.unwrap().remove(0);
    let why = run.error.unwrap();
    assert_eq!(why, "the process ended during this work, 5 times in a row, without progress in between");
    // With a new message it begins again.
    model.let_go(1);
    world.client().send(agent.id, "Say hello.", None).await.unwrap();
    within("the next run", spawn_advance(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Succeeded);
    assert!(world.audit().await.is_empty());
}

#[tokio::test]
async fn an_orderly_shutdown_does_not_count_as_a_restart() {
    let (model, mut world) = held_model_without_workers().await;
    let agent = world.ask("Take your time.").await;
    for _ in 0..3 * GIVE_UP_AFTER {
        let work = spawn_advance(&world, agent.id);
        model.begun().await;
        world.engine().stopping().cancel();
        within("the activation ends", work).await.unwrap();
        world = restart_two_minutes_later(world).await;
    }
    model.let_go(1);
    within("it goes on", spawn_advance(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Succeeded);
}

/// Even if a run may survive only a single end of its process.
#[tokio::test]
async fn an_orderly_shutdown_does_not_count_even_if_one_kill_ends_a_run() {
    let model = HeldModel::new(ScriptedModel::deciding(|_| Some(Ok(Script::text("Done.")))));
    let mut world =
        World::builder(model.clone()).engine(|engine| engine.give_up_after(1)).dispatchers([]).start().await;
    let agent = world.ask("Take your time.").await;
    for _ in 0..3 {
        let work = spawn_advance(&world, agent.id);
        model.begun().await;
        world.engine().stopping().cancel();
        within("the activation ends", work).await.unwrap();
        world = restart_two_minutes_later(world).await;
    }
    let work = spawn_advance(&world, agent.id);
    model.begun().await;
    world = kill_and_restart(world, [work]).await;
    within("the run is ended", spawn_advance(&world, agent.id)).await.unwrap();
    let run = world.client().runs(agent.id, Default::default()).await.unwrap().remove(0);
    assert_eq!(run.error.unwrap(), "the process ended during this work, once, without progress in between");
}

/// An orderly end between two kills neither counts nor resets the count.
#[tokio::test]
async fn an_orderly_shutdown_does_not_reset_the_restart_count() {
    let (model, mut world) = held_model_without_workers().await;
    let agent = world.ask("Take all memory.").await;
    for life in 0..=GIVE_UP_AFTER {
        let work = spawn_advance(&world, agent.id);
        model.begun().await;
        if life == 2 {
            world.engine().stopping().cancel();
            within("the activation ends", work).await.unwrap();
            world = restart_two_minutes_later(world).await;
        } else {
            world = kill_and_restart(world, [work]).await;
        }
    }
    within("the run is ended", spawn_advance(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Failed);
}

/// If the process also ends while the engine ends the run for that, the run is left as it is.
#[tokio::test]
async fn a_run_whose_ending_also_kills_the_process_is_left_alone() {
    let (model, mut world) = held_model_without_workers().await;
    let agent = world.ask("Take all memory.").await;
    world = kill_until_the_limit(world, &model, &agent).await;
    // The decision to end it is recorded, and that its turn has come, and the commit that ends it is never applied.
    let faults = Faults::default().plan(3, Fault::DieBefore);
    world = world.restart(faults.clone()).await;
    let work = spawn_advance(&world, agent.id);
    within("it dies", death_of(&faults)).await;
    world = kill_and_restart(world, [work]).await;
    within("it is left", spawn_advance(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Running);
    let why = world.client().why(agent.id).await.unwrap();
    assert_eq!(*why.cause(), Cause::Crash { ends: GIVE_UP_AFTER as u32 + 1 });
    // A person may still stop it.
    world.client().intervene(agent.id, entourage_types::Action::Stop, None).await.unwrap();
    let why = world.client().why(agent.id).await.unwrap();
    assert_eq!(*why.cause(), Cause::Process, "it is about to be stopped");
    within("it is ended", spawn_advance(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Failed);
}

/// Each stop has it ended once: what ends each process that tries is not tried for ever.
#[tokio::test]
async fn a_stop_has_a_run_ended_once_that_ends_the_process_when_it_is_ended() {
    let (model, mut world) = held_model_without_workers().await;
    let agent = world.ask("Take all memory.").await;
    world = kill_until_the_limit(world, &model, &agent).await;
    for stops in 0..3 {
        // The count, that its turn has come, and the end; that a person has asked for it, and the end.
        let faults = Faults::default().plan(if stops == 0 { 3 } else { 2 }, Fault::DieBefore);
        world = world.restart(faults.clone()).await;
        let work = spawn_advance(&world, agent.id);
        within("it dies", death_of(&faults)).await;
        world = kill_and_restart(world, [work]).await;
        for _ in 0..2 {
            within("it is left", spawn_advance(&world, agent.id)).await.unwrap();
            let why = world.client().why(agent.id).await.unwrap();
            assert!(matches!(why.cause(), Cause::Crash { .. }), "{stops} stops: {:?}", why.cause());
            world = restart_two_minutes_later(world).await;
        }
        world.client().intervene(agent.id, entourage_types::Action::Stop, None).await.unwrap();
    }
    within("it is ended", spawn_advance(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Failed);
}

/// What others write to a run is no progress of it.
#[tokio::test]
async fn a_run_that_is_written_to_between_restarts_is_ended_all_the_same() {
    let (model, mut world) = held_model_without_workers().await;
    let agent = world.ask("Take all memory.").await;
    for _ in 0..GIVE_UP_AFTER {
        let work = spawn_advance(&world, agent.id);
        model.begun().await;
        world = kill_and_restart(world, [work]).await;
        world.client().send(agent.id, "Hurry.", None).await.unwrap();
    }
    within("the run is ended", spawn_advance(&world, agent.id)).await.unwrap();
    let run = world.client().runs(agent.id, Default::default()).await.unwrap().remove(0);
    assert!(run.error.unwrap().contains("without progress"), "it is ended as one without progress");
}

/// One end of a process counts once, however many attempts the next process makes.
#[tokio::test]
async fn a_failed_attempt_to_end_a_run_is_repeated_in_the_same_process() {
    let (model, mut world) = held_model_without_workers().await;
    let agent = world.ask("Take all memory.").await;
    world = kill_until_the_limit(world, &model, &agent).await;
    let faults = Faults::default().plan(3, Fault::Hang);
    world = world.restart(faults.clone()).await;
    let work = spawn_advance(&world, agent.id);
    within("it hangs", async {
        while faults.commits() < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    work.abort();
    drop(work.await);
    within("the run is ended", spawn_advance(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Failed);
}

#[tokio::test]
async fn a_run_that_makes_progress_between_restarts_is_not_ended() {
    let steps = GIVE_UP_AFTER + 3;
    let model = HeldModel::new(ScriptedModel::deciding(move |request| {
        let outputs =
            request.messages.iter().filter(|message| matches!(message, Message::Output { .. })).count();
        Some(Ok(match outputs < steps {
            true => Script::call("search_notes", serde_json::json!({ "query": format!("note {outputs}") })),
            false => Script::text("Done."),
        }))
    }));
    let mut world =
        World::builder(model.clone()).tools(crate::kit::first_tools()).dispatchers([]).start().await;
    let agent = world.ask("Look for many notes.").await;
    for _ in 0..steps {
        let work = spawn_advance(&world, agent.id);
        model.begun().await;
        model.let_go(1);
        model.begun().await;
        world = kill_and_restart(world, [work]).await;
    }
    model.let_go(1);
    within("it goes on", spawn_advance(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Succeeded);
}

/// Answers immediately, except for texts to hold: these are never answered.
#[derive(Clone)]
struct KillingModel {
    begun: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
}

#[async_trait]
impl Model for KillingModel {
    async fn call(&self, request: Request, _: &mut dyn Deltas) -> entourage_llm::Result<Reply> {
        let is_deadly = request
            .messages
            .iter()
            .any(|message| matches!(message, Message::User(text) if text == "KillingModel."));
        if is_deadly {
            self.begun.add_permits(1);
            std::future::pending::<()>().await;
        }
        self.let_go.acquire().await.expect("open").forget();
        Ok(Reply { text: "Done.".into(), ..Reply::default() })
    }

    fn describe(&self) -> String {
        "deadly".into()
    }
}

/// One run ends the process whenever its model is asked; the other one asks its model at the same
/// time, and would succeed. From the fourth start on they are resumed one at a time, so that the
/// other one makes progress and the first is ended.
#[tokio::test]
async fn a_run_beside_one_that_kills_the_process_is_not_ended_with_it() {
    let model = KillingModel { begun: Arc::new(Semaphore::new(0)), let_go: Arc::new(Semaphore::new(0)) };
    let mut world = World::builder(model.clone()).dispatchers([]).start().await;
    let (deadly, other) = (world.ask("KillingModel.").await, world.ask("Harmless.").await);
    let mut starts = 0;
    while now(&world, &deadly).await.status != Status::Failed {
        starts += 1;
        assert!(starts < 20, "it is never ended");
        // Alternating, so that neither always comes first.
        let mut order = [&deadly, &other];
        order.rotate_left(starts % 2);
        let mut works = JoinSet::new();
        for agent in order {
            let (engine, agent) = (world.engine().clone(), agent.id);
            works.spawn(async move { drop(engine.advance(agent).await) });
        }
        if starts > 2 {
            // The other one's request is answered, once it is made.
            model.let_go.add_permits(1);
        }
        let over = async { while works.join_next().await.is_some() {} };
        tokio::select! {
            permit = model.begun.acquire() => permit.expect("open").forget(),
            () = over => {}
        }
        world.faults().kill();
        works.shutdown().await;
        world = restart_two_minutes_later(world).await;
    }
    assert_eq!(now(&world, &other).await.status, Status::Succeeded);
}

/// Requests a pause of a minute at first, and never answers from then on.
#[derive(Clone)]
struct RateLimitedThenSilent {
    asked: Arc<AtomicUsize>,
    begun: Arc<Semaphore>,
}

#[async_trait]
impl Model for RateLimitedThenSilent {
    async fn call(&self, _: Request, _: &mut dyn Deltas) -> entourage_llm::Result<Reply> {
        if self.asked.fetch_add(1, Ordering::SeqCst) == 0 {
            return Err(Error::RateLimited { model: "m".into(), retry_after: Some(Duration::from_secs(60)) });
        }
        self.begun.add_permits(1);
        std::future::pending().await
    }

    fn describe(&self) -> String {
        "reluctant".into()
    }
}

/// A run that waited to ask its model again writes nothing before it does.
#[tokio::test]
async fn a_kill_during_a_retried_model_call_counts_as_a_restart() {
    let model = RateLimitedThenSilent { asked: Arc::default(), begun: Arc::new(Semaphore::new(0)) };
    let mut world = World::builder(model.clone()).dispatchers([]).start().await;
    let agent = world.ask("Hello.").await;
    within("it sleeps", spawn_advance(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.waiting_on, Some(WaitingOn::Retry));
    // Starts before its time do nothing and do not count.
    for _ in 0..=GIVE_UP_AFTER {
        within("it sleeps on", spawn_advance(&world, agent.id)).await.unwrap();
        world = world.restart(Faults::default()).await;
    }
    world = restart_two_minutes_later(world).await;
    for _ in 0..GIVE_UP_AFTER {
        let work = spawn_advance(&world, agent.id);
        within("it asks again", model.begun.acquire()).await.unwrap().forget();
        world = kill_and_restart(world, [work]).await;
    }
    within("the run is ended", spawn_advance(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Failed);
}

/// Both are under way whenever the process ends. From the fourth start on they are resumed one at a
/// time, each for five seconds at most.
#[tokio::test]
async fn runs_that_were_often_interrupted_are_resumed_one_at_a_time() {
    let (model, mut world) = held_model_without_workers().await;
    let (one, other) = (world.ask("One.").await, world.ask("Other.").await);
    for _ in 0..3 {
        let work = [&one, &other].map(|agent| spawn_advance(&world, agent.id));
        model.begun().await;
        model.begun().await;
        world = kill_and_restart(world, work).await;
    }
    let first = spawn_advance(&world, one.id);
    model.begun().await;
    let second = spawn_advance(&world, other.id);
    let turn = tokio::select! {
        () = model.begun() => Duration::ZERO,
        turn = world.clock().advance_to_sleeper(Duration::from_secs(10)) => turn,
    };
    assert_eq!(turn, Duration::from_secs(5), "both were at work at once");
    // The first run has made no progress, and no longer delays the second.
    model.begun().await;
    model.let_go(2);
    within("the first ends", first).await.unwrap();
    within("the second ends", second).await.unwrap();
    for agent in [&one, &other] {
        assert_eq!(now(&world, agent).await.status, Status::Succeeded);
    }
}

/// More runs than may wait at once, all without output: each gets its five seconds alone and is
/// counted, and none waits for more than the others.
#[tokio::test]
async fn each_of_many_interrupted_runs_gets_its_turn_and_is_counted() {
    const AGENTS: usize = 16;
    let model = HeldModel::new(ScriptedModel::deciding(|_| Some(Ok(Script::text("Done.")))));
    let mut world = World::builder(model.clone()).start().await;
    let mut agents = Vec::new();
    for _ in 0..AGENTS {
        agents.push(world.ask("Go.").await.id);
    }
    for _ in 0..3 {
        for _ in 0..AGENTS {
            model.begun().await;
        }
        world = restart_two_minutes_later(world).await;
    }
    let started = Clock::now(world.clock());
    model.begun().await;
    for _ in 1..AGENTS {
        world.clock().advance(Duration::from_secs(5));
        model.begun().await;
    }
    for agent in agents {
        let run = world.client().runs(agent, Page::default()).await.unwrap()[0].id;
        let steps = world.store().steps(&Scope::All, run).await.unwrap();
        let counted = steps.iter().find(|step| step.key == StepKey::Restart).unwrap();
        assert_eq!((counted.attempt, counted.updated >= started), (3, true), "{agent}");
    }
    model.let_go(AGENTS);
}
