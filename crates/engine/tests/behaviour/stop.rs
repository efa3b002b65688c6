//! Stopping: an agent's work ends with everything it delegated, and all agents accept new messages.

use crate::kit::{WorldBuilderExt, WorldExt, bare, first_tools, within};
use entourage_engine::{AcceptedMessage, ChatMessage, Client, Error, Kinds};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{Fault, Faults, HeldModel, World, plain};
use entourage_types::{Action, EventBody, Kind, Owner, Run, Status, StopReason};
use serde_json::json;

/// A client of the process that works.
fn person(world: &World) -> Client {
    world.engine().client(Owner::local())
}

/// a writes to b, b to c; c answers.
fn kinds() -> Kinds {
    [("a", "b"), ("b", "c"), ("c", "")].into_iter().fold(Kinds::none(), |kinds, (name, peer)| {
        let peers = if peer.is_empty() { vec![] } else { vec![peer.to_owned()] };
        kinds.with(Kind { instructions: format!("You are {name}."), peers, ..bare(name) })
    })
}

fn delegate_down(request: &Request) -> Script {
    let next = ["a", "b"].into_iter().find(|name| request.system.starts_with(&format!("You are {name}.")));
    match (next, request.messages.last()) {
        (Some("a"), Some(Message::User(text))) => {
            Script::call("send_message", json!({"recipient": "b", "message": text}))
        }
        (Some(_), Some(Message::User(text))) => {
            Script::call("send_message", json!({"recipient": "c", "message": text}))
        }
        (_, Some(Message::User(text) | Message::Output { text, .. })) => Script::text(format!("<{text}>")),
        _ => Script::text("?"),
    }
}

async fn say(world: &World, to: &str, text: &str) -> AcceptedMessage {
    let speech = ChatMessage { chat: "c".into(), to: to.into(), text: text.into(), ..ChatMessage::default() };
    person(world).speak(speech, None).await.unwrap()
}

/// Waits until the message is answered, or its run has ended.
async fn wait_for_answer(world: &World, spoken: &AcceptedMessage) -> Run {
    let client = world.client();
    let mut news = client.watch(spoken.root, None).await.unwrap();
    within("the message is answered", async {
        loop {
            if let Some(run) = client.run_of(spoken.agent, spoken.post).await.unwrap() {
                let run = client.run(run).await.unwrap();
                if run.status.is_terminal() {
                    return run;
                }
            }
            news.next().await.unwrap();
        }
    })
    .await
}

/// Waits until no agent of the tree works; every transcript is then well formed.
async fn at_rest(world: &World, spoken: &AcceptedMessage) -> Vec<Vec<String>> {
    let client = world.client();
    let mut news = client.watch(spoken.root, None).await.unwrap();
    within("everybody of the tree rests", async {
        loop {
            let tree = client.tree(spoken.root).await.unwrap();
            if tree.iter().all(|agent| agent.status.is_terminal())
                && world
                    .store()
                    .due(entourage_types::Time::from_micros(i64::MAX), None, 1)
                    .await
                    .unwrap()
                    .is_empty()
            {
                break;
            }
            tokio::select! {
                _ = news.next() => {}
                () = tokio::task::yield_now() => {}
            }
        }
    })
    .await;
    assert_eq!(world.audit().await, []);
    let mut all = Vec::new();
    for agent in client.tree(spoken.root).await.unwrap() {
        assert_ne!(agent.status, Status::Cancelled);
        let items = client.items(agent.id, 0, 100).await.unwrap();
        all.push(plain(&items));
    }
    all
}

#[tokio::test]
async fn stopping_an_agent_stops_its_sub_agents_and_all_accept_new_messages() {
    let model = HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(delegate_down(request)))));
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds()).start().await;
    let spoken = say(&world, "a", "one").await;
    for _ in 0..2 {
        model.begun().await;
        model.let_go(1);
    }
    // c is in the middle of a model call, and the others wait for it.
    model.begun().await;
    person(&world).intervene(spoken.agent, Action::Stop, None).await.unwrap();
    let run = wait_for_answer(&world, &spoken).await;
    assert_eq!((run.status, run.stop_reason), (Status::Failed, Some(StopReason::Cancelled)));
    let all = at_rest(&world, &spoken).await;
    assert_eq!(model.cut_off(), 1, "what c asked its model is of no use");
    assert!(all[0][2].starts_with("output!: not answered: the work was stopped"), "{all:?}");
    assert_eq!(all[2][1], "notice run_ended cancelled: stopped before it was done");

    let again = say(&world, "a", "two").await;
    model.let_go(10);
    assert_eq!(wait_for_answer(&world, &again).await.status, Status::Succeeded);
    let all = at_rest(&world, &spoken).await;
    assert_eq!(all.len(), 3, "the threads are the same");
    assert_eq!(all[2].last().map(String::as_str), Some("turn: <two>[]"));
    let idle = person(&world).intervene(spoken.agent, Action::Stop, None).await;
    assert!(matches!(idle, Err(Error::NotNow { .. })), "{idle:?}");
}

#[tokio::test]
async fn withdrawing_a_message_does_not_affect_the_other_messages() {
    let model = HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(delegate_down(request)))));
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds()).start().await;
    let first = say(&world, "c", "one").await;
    model.begun().await;
    let second = say(&world, "c", "two").await;
    let third = say(&world, "c", "three").await;
    person(&world).withdraw(second.agent, second.post).await.unwrap();
    model.let_go(10);
    assert_eq!(wait_for_answer(&world, &first).await.status, Status::Succeeded);
    assert_eq!(wait_for_answer(&world, &second).await.stop_reason, Some(StopReason::Cancelled));
    assert_eq!(wait_for_answer(&world, &third).await.status, Status::Succeeded);
    assert_eq!(model.cut_off(), 0);
    let all = at_rest(&world, &first).await;
    assert_eq!(
        all[0],
        [
            "message: one",
            "turn: <one>[]",
            "message: two",
            "notice run_ended cancelled: stopped before it was done",
            "message: three",
            "turn: <three>[]"
        ]
    );
    // It was answered: there is nothing to stop.
    person(&world).withdraw(third.agent, third.post).await.unwrap();
    assert_eq!(at_rest(&world, &first).await, all);
}

/// Stops a delegation three levels deep at its third model call, with this fault at this commit.
async fn stop_with(at: u64, fault: Fault) -> u64 {
    println!("{fault:?} at commit {at}");
    let model = HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(delegate_down(request)))));
    let builder =
        World::builder(model.clone()).tools(first_tools()).kinds(kinds()).store(MemoryStore::default());
    let world = builder.start_with(at, fault).await;
    let faults = world.faults().clone();
    let spoken = {
        let speech =
            ChatMessage { chat: "c".into(), to: "a".into(), text: "one".into(), ..ChatMessage::default() };
        world.client().speak(speech, None).await.unwrap()
    };
    let below = async {
        for _ in 0..2 {
            model.begun().await;
            model.let_go(1);
        }
        model.begun().await;
    };
    faults.unless_dead(below).await;
    let told = person(&world).withdraw(spoken.agent, spoken.post).await;
    if fault == Fault::LoseEpoch {
        // Another process works, whose requests are not cut off here.
        model.let_go(20);
    }
    let first = async {
        match told {
            Ok(_) => wait_for_answer(&world, &spoken).await,
            Err(_) => std::future::pending().await,
        }
    };
    let ended = faults.unless_dead(first).await;
    let world = if ended.is_some() { world } else { world.restart(Faults::default()).await };
    if told.is_err() {
        person(&world).withdraw(spoken.agent, spoken.post).await.unwrap();
    }
    model.let_go(20);
    let run = wait_for_answer(&world, &spoken).await;
    assert_eq!(run.stop_reason, Some(StopReason::Cancelled), "it is not forgotten");
    // A process may die after the stop was done.
    let world = world.restart(Faults::default()).await;
    at_rest(&world, &spoken).await;
    let runs = world.client().tree_runs(spoken.root).await.unwrap();
    assert!(runs.iter().all(|run| run.status.is_terminal()), "{runs:?}");
    let tasks = world.client().tasks(Some(spoken.root), None, Page::default()).await.unwrap();
    assert!(tasks.iter().all(|task| task.status.is_terminal()), "{tasks:?}");
    let again = say(&world, "a", "two").await;
    assert_eq!(wait_for_answer(&world, &again).await.status, Status::Succeeded);
    at_rest(&world, &spoken).await;
    faults.commits()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn withdrawing_a_message_survives_a_crash_at_every_commit() {
    // The person's own commits count: they have no fence.
    let commits = stop_with(u64::MAX, Fault::DieBefore).await;
    assert!(commits > 7, "{commits}");
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
            tokio::time::timeout(std::time::Duration::from_secs(60), stop_with(at, fault))
                .await
                .unwrap_or_else(|_| panic!("stuck: {fault:?} at commit {at}"));
        }
    }
}

#[tokio::test]
async fn a_paused_agent_can_be_stopped() {
    let model = HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(delegate_down(request)))));
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds()).start().await;
    let spoken = say(&world, "a", "one").await;
    model.begun().await;
    person(&world).intervene(spoken.agent, Action::Pause, None).await.unwrap();
    model.let_go(1);
    world
        .until(spoken.root, |event| {
            matches!(event.body, EventBody::AgentStatus { status: Status::Waiting, .. })
        })
        .await;
    person(&world).intervene(spoken.agent, Action::Stop, None).await.unwrap();
    assert_eq!(wait_for_answer(&world, &spoken).await.stop_reason, Some(StopReason::Cancelled));
    at_rest(&world, &spoken).await;
}
