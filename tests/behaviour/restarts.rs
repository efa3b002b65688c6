//! A run that ends its process each time is ended after some restarts, and no other run with it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::Clock;
use entourage_llm::{Deltas, Error, Message, Model, Reply, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Fault, Faults, HeldModel, World, within};
use entourage_types::{Agent, AgentId, Scope, Status, StepKey, StopReason, WaitingOn};
use tokio::{
    sync::Semaphore,
    task::{JoinHandle, JoinSet},
};

/// How many consecutive restarts are counted before a run is ended, with the default settings.
const GIVE_UP_AFTER: usize = 5;

/// A model whose calls wait, and a world in which nothing works by itself.
async fn held() -> (HeldModel, World) {
    let model = HeldModel::new(ScriptedModel::deciding(|_| Some(Ok(Script::text("Done.")))));
    let world = World::builder(model.clone()).workers(0).start().await;
    (model, world)
}

/// Advances the agent until the process or its run ends.
fn at_work(world: &World, agent: AgentId) -> JoinHandle<()> {
    let engine = world.engine().clone();
    tokio::spawn(async move { drop(engine.advance(agent).await) })
}

/// Kills the process while this is under way, and starts the next one two minutes later.
async fn killed(world: World, under_way: impl IntoIterator<Item = JoinHandle<()>>) -> World {
    world.faults().kill();
    for work in under_way {
        work.abort();
        drop(work.await);
    }
    later(world).await
}

/// Kills the process as often as a run may survive it, each time during a model call.
async fn often_killed(mut world: World, model: &HeldModel, agent: &Agent) -> World {
    for _ in 0..GIVE_UP_AFTER {
        let work = at_work(&world, agent.id);
        model.begun().await;
        world = killed(world, [work]).await;
    }
    world
}

async fn later(world: World) -> World {
    world.clock().advance(Duration::from_secs(120));
    world.reborn(Faults::none()).await
}

async fn now(world: &World, agent: &Agent) -> Agent {
    world.client().agent(agent.id).await.unwrap()
}

#[tokio::test]
async fn a_run_that_its_process_never_outlives_is_ended() {
    let (model, mut world) = held().await;
    let agent = world.ask("Take all memory.").await;
    world = often_killed(world, &model, &agent).await;
    within("the run is ended", at_work(&world, agent.id)).await.unwrap();
    let ended = now(&world, &agent).await;
    assert_eq!((ended.status, ended.stop_reason), (Status::Failed, Some(StopReason::Error)));
    let run = world.client().runs(agent.id, Default::default()).await.unwrap().remove(0);
    let why = run.error.unwrap();
    assert_eq!(
        why,
        "the process ended while this was worked on, 5 times in a row, and nothing was done in between"
    );
    // With a new message it begins again.
    model.let_go(1);
    world.client().send(agent.id, "Say hello.", None).await.unwrap();
    within("the next run", at_work(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Succeeded);
    assert!(world.audit().await.is_empty());
}

#[tokio::test]
async fn a_process_that_ends_in_order_is_not_counted() {
    let (model, mut world) = held().await;
    let agent = world.ask("Take your time.").await;
    for _ in 0..3 * GIVE_UP_AFTER {
        let work = at_work(&world, agent.id);
        model.begun().await;
        world.engine().stopping().cancel();
        within("the activation ends", work).await.unwrap();
        world = later(world).await;
    }
    model.let_go(1);
    within("it goes on", at_work(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Succeeded);
}

/// Even if a run may survive only a single end of its process.
#[tokio::test]
async fn a_process_that_ends_in_order_is_not_counted_where_one_kill_is_too_many() {
    let model = HeldModel::new(ScriptedModel::deciding(|_| Some(Ok(Script::text("Done.")))));
    let mut world = World::builder(model.clone()).give_up_after(1).workers(0).start().await;
    let agent = world.ask("Take your time.").await;
    for _ in 0..3 {
        let work = at_work(&world, agent.id);
        model.begun().await;
        world.engine().stopping().cancel();
        within("the activation ends", work).await.unwrap();
        world = later(world).await;
    }
    let work = at_work(&world, agent.id);
    model.begun().await;
    world = killed(world, [work]).await;
    within("the run is ended", at_work(&world, agent.id)).await.unwrap();
    let run = world.client().runs(agent.id, Default::default()).await.unwrap().remove(0);
    assert_eq!(
        run.error.unwrap(),
        "the process ended while this was worked on, once, and nothing was done in between"
    );
}

/// An orderly end between two kills neither counts nor resets the count.
#[tokio::test]
async fn kills_are_counted_across_an_end_in_order() {
    let (model, mut world) = held().await;
    let agent = world.ask("Take all memory.").await;
    for life in 0..=GIVE_UP_AFTER {
        let work = at_work(&world, agent.id);
        model.begun().await;
        if life == 2 {
            world.engine().stopping().cancel();
            within("the activation ends", work).await.unwrap();
            world = later(world).await;
        } else {
            world = killed(world, [work]).await;
        }
    }
    within("the run is ended", at_work(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Failed);
}

/// If the process also ends while the engine ends the run for that, the run is left as it is.
#[tokio::test]
async fn a_run_that_cannot_even_be_ended_is_left() {
    let (model, mut world) = held().await;
    let agent = world.ask("Take all memory.").await;
    world = often_killed(world, &model, &agent).await;
    // The decision to end it is recorded, and the commit that ends it is never applied.
    let faults = Faults::at(2, Fault::DieBefore);
    world = world.reborn(faults.clone()).await;
    let work = at_work(&world, agent.id);
    within("it dies", faults.died()).await;
    world = killed(world, [work]).await;
    within("it is left", at_work(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Running);
    // A person may still stop it.
    world.client().intervene(agent.id, entourage_types::Action::Stop, None).await.unwrap();
    within("it is ended", at_work(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Failed);
}

/// One end of a process counts once, however many attempts the next process makes.
#[tokio::test]
async fn a_run_that_is_to_be_ended_is_ended_at_the_second_attempt_too() {
    let (model, mut world) = held().await;
    let agent = world.ask("Take all memory.").await;
    world = often_killed(world, &model, &agent).await;
    let faults = Faults::at(2, Fault::Hang);
    world = world.reborn(faults.clone()).await;
    let work = at_work(&world, agent.id);
    within("it hangs", async {
        while faults.commits() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    work.abort();
    drop(work.await);
    within("the run is ended", at_work(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Failed);
}

#[tokio::test]
async fn a_run_that_gets_on_between_restarts_is_not_ended() {
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
        World::builder(model.clone()).tools(entourage_tests::first_tools()).workers(0).start().await;
    let agent = world.ask("Look for many notes.").await;
    for _ in 0..steps {
        let work = at_work(&world, agent.id);
        model.begun().await;
        model.let_go(1);
        model.begun().await;
        world = killed(world, [work]).await;
    }
    model.let_go(1);
    within("it goes on", at_work(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Succeeded);
}

/// Answers immediately, except for texts to hold: these are never answered.
#[derive(Clone)]
struct Deadly {
    begun: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
}

#[async_trait]
impl Model for Deadly {
    async fn call(&self, request: Request, _: &mut dyn Deltas) -> entourage_llm::Result<Reply> {
        let is_deadly = request
            .messages
            .iter()
            .any(|message| matches!(message, Message::User(text) if text == "Deadly."));
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
async fn a_run_beside_the_one_that_ends_the_process_is_not_ended_with_it() {
    let model = Deadly { begun: Arc::new(Semaphore::new(0)), let_go: Arc::new(Semaphore::new(0)) };
    let mut world = World::builder(model.clone()).workers(0).start().await;
    let (deadly, other) = (world.ask("Deadly.").await, world.ask("Harmless.").await);
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
        world = later(world).await;
    }
    assert_eq!(now(&world, &other).await.status, Status::Succeeded);
}

/// Requests a pause of a minute at first, and never answers from then on.
#[derive(Clone)]
struct Reluctant {
    asked: Arc<AtomicUsize>,
    begun: Arc<Semaphore>,
}

#[async_trait]
impl Model for Reluctant {
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
async fn a_process_that_ends_while_a_model_is_asked_again_is_counted() {
    let model = Reluctant { asked: Arc::default(), begun: Arc::new(Semaphore::new(0)) };
    let mut world = World::builder(model.clone()).workers(0).start().await;
    let agent = world.ask("Hello.").await;
    within("it sleeps", at_work(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.waiting_on, Some(WaitingOn::Retry));
    // Starts before its time do nothing and do not count.
    for _ in 0..=GIVE_UP_AFTER {
        within("it sleeps on", at_work(&world, agent.id)).await.unwrap();
        world = world.reborn(Faults::none()).await;
    }
    world = later(world).await;
    for _ in 0..GIVE_UP_AFTER {
        let work = at_work(&world, agent.id);
        within("it asks again", model.begun.acquire()).await.unwrap().forget();
        world = killed(world, [work]).await;
    }
    within("the run is ended", at_work(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Failed);
}

/// Both are under way whenever the process ends. From the fourth start on they are resumed one at a
/// time, each for five seconds at most.
#[tokio::test]
async fn runs_that_were_often_cut_off_are_taken_up_one_at_a_time() {
    let (model, mut world) = held().await;
    let (one, other) = (world.ask("One.").await, world.ask("Other.").await);
    for _ in 0..3 {
        let work = [&one, &other].map(|agent| at_work(&world, agent.id));
        model.begun().await;
        model.begun().await;
        world = killed(world, work).await;
    }
    let first = at_work(&world, one.id);
    model.begun().await;
    let second = at_work(&world, other.id);
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
async fn however_many_wait_for_their_turn_each_has_it_and_is_counted() {
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
        world = later(world).await;
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
