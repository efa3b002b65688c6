//! A run that ends its process each time is ended after some restarts, and no other run with it.

use std::time::Duration;

use entourage_llm::{Message, Script, ScriptedModel};
use entourage_testkit::{Faults, HeldModel, World, within};
use entourage_types::{Agent, AgentId, Status, StopReason};
use tokio::task::JoinHandle;

/// So many restarts in a row are counted before a run is ended, unless the settings say otherwise.
const GIVE_UP_AFTER: usize = 5;

/// A model whose calls wait, and a world in which nothing works by itself.
async fn held() -> (HeldModel, World) {
    let model = HeldModel::new(ScriptedModel::deciding(|_| Some(Ok(Script::text("Done.")))));
    let world = World::builder(model.clone()).workers(0).start().await;
    (model, world)
}

/// The agent goes on, until the process ends or its run does.
fn at_work(world: &World, agent: AgentId) -> JoinHandle<()> {
    let house = world.house().clone();
    tokio::spawn(async move { drop(house.advance(agent).await) })
}

/// The process is killed while this is under way, and the next one starts a minute later.
async fn killed(world: World, under_way: impl IntoIterator<Item = JoinHandle<()>>) -> World {
    world.faults().kill();
    for work in under_way {
        work.abort();
        drop(work.await);
    }
    later(world).await
}

async fn later(world: World) -> World {
    world.clock().advance(Duration::from_secs(60));
    world.reborn(Faults::none()).await
}

async fn now(world: &World, agent: &Agent) -> Agent {
    world.client().agent(agent.id).await.unwrap()
}

#[tokio::test]
async fn a_run_that_its_process_never_outlives_is_ended() {
    let (model, mut world) = held().await;
    let agent = world.ask("Take all memory.").await;
    for _ in 0..=GIVE_UP_AFTER {
        let work = at_work(&world, agent.id);
        model.begun().await;
        world = killed(world, [work]).await;
    }
    within("the run is ended", at_work(&world, agent.id)).await.unwrap();
    let ended = now(&world, &agent).await;
    assert_eq!((ended.status, ended.stop_reason), (Status::Failed, Some(StopReason::Error)));
    let run = world.client().runs(agent.id, Default::default()).await.unwrap().remove(0);
    let why = run.error.unwrap();
    assert_eq!(
        why,
        "the server ended while this was worked on, 5 times in a row, and nothing was done in between"
    );
    // Written to again, it begins anew.
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
        world.house().stopping().cancel();
        within("the activation ends", work).await.unwrap();
        world = later(world).await;
    }
    model.let_go(1);
    within("it goes on", at_work(&world, agent.id)).await.unwrap();
    assert_eq!(now(&world, &agent).await.status, Status::Succeeded);
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

/// Both are under way whenever the process ends. From the fourth start on they are taken up one at a time.
#[tokio::test]
async fn runs_that_were_often_cut_off_are_taken_up_one_at_a_time() {
    let (model, mut world) = held().await;
    let (one, other) = (world.ask("One.").await, world.ask("Other.").await);
    for _ in 0..4 {
        let work = [&one, &other].map(|agent| at_work(&world, agent.id));
        model.begun().await;
        model.begun().await;
        world = killed(world, work).await;
    }
    let first = at_work(&world, one.id);
    model.begun().await;
    let second = at_work(&world, other.id);
    // The second begins once the first has got somewhere.
    let waits = tokio::select! {
        () = model.begun() => false,
        _ = world.clock().sleeper(Duration::from_secs(30)) => true,
    };
    assert!(waits, "both are at work");
    model.let_go(1);
    within("the first ends", first).await.unwrap();
    model.begun().await;
    model.let_go(1);
    within("the second ends", second).await.unwrap();
    for agent in [&one, &other] {
        assert_eq!(now(&world, agent).await.status, Status::Succeeded);
    }
}
