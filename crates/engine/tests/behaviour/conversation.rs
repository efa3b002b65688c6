//! A user writes, an agent answers, and everything is recorded.

use crate::kit::{Effects, TestTool, WorldExt, first_tools, one_kind};
use entourage_engine::{NewAgent, Role};
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_store::{Commit, Page, Write};
use entourage_testkit::{World, plain};
use entourage_tools::{Effect, Outcome, Toolbox};
use entourage_types::{EventBody, Status, StepKey, StepStatus, StopReason, Usage, Wakeup};
use serde_json::json;

/// Shows: S4-R144, S4-R002.
#[tokio::test]
async fn an_answered_message_leaves_items_a_run_a_step_and_usage() {
    let model =
        ScriptedModel::new([Script::text("Four.").using(Usage { input: 7, output: 2, ..Usage::default() })]);
    let world = World::scripted(&model, first_tools()).await;
    let agent = world.ask("What is two and two?").await;
    let ended = world.ended(agent.id).await;
    assert_eq!((ended.status, ended.items), (Status::Succeeded, 2));

    let client = world.client();
    let items = client.items(agent.id, 0, 10).await.unwrap();
    assert_eq!(plain(&items), ["message: What is two and two?", "turn: Four.[]"]);
    let runs = client.runs(agent.id, Page::default()).await.unwrap();
    assert_eq!(runs.len(), 1);
    let run = &runs[0];
    assert_eq!((run.status, run.stop_reason), (Status::Succeeded, Some(StopReason::Completed)));
    assert_eq!((run.usage.input, run.usage.output, run.model_calls), (7, 2, 1));
    let steps = client.steps(run.id).await.unwrap();
    assert_eq!(
        steps.iter().map(|step| (step.key.clone(), step.status())).collect::<Vec<_>>(),
        [(StepKey::Model(1), StepStatus::Done)]
    );
    assert_eq!(steps[0].used.as_ref().unwrap().usage, run.usage);

    let seen = client.transcript(agent.id).await.unwrap();
    let roles: Vec<_> = seen.iter().map(|entry| (entry.role, entry.text.as_str())).collect();
    assert_eq!(roles, [(Role::User, "What is two and two?"), (Role::Assistant, "Four.")]);
}

#[tokio::test]
async fn a_second_message_continues_the_same_transcript() {
    let model = ScriptedModel::new([Script::text("Hello."), Script::text("You said hi.")]);
    let world = World::scripted(&model, first_tools()).await;
    let agent = world.ask("hi").await;
    world.ended(agent.id).await;
    let posted = world.client().send(agent.id, "What did I say?", None).await.unwrap();
    assert_eq!(posted.agent, agent.id);
    world.until(agent.id, |event| matches!(&event.body, EventBody::Item { item_seq: 3, .. })).await;
    let second = &model.requests()[1];
    assert_eq!(
        second.messages,
        [
            Message::User("hi".into()),
            Message::Assistant { text: "Hello.".into(), calls: vec![] },
            Message::User("What did I say?".into()),
        ]
    );
}

#[tokio::test]
async fn a_wakeup_with_nothing_to_read_opens_no_run() {
    let model = ScriptedModel::new([]);
    let world = World::scripted(&model, first_tools()).await;
    let client = world.client();
    let agent = client.create(NewAgent::default(), None).await.unwrap();
    let mut commit = Commit::new(agent.created);
    commit.push(Write::ScheduleWakeup(Wakeup::new(agent.id, agent.owner.clone(), agent.created)));
    world.store().commit(commit).await.unwrap();
    world.engine().advance(agent.id).await.unwrap();
    assert_eq!(client.runs(agent.id, Page::default()).await.unwrap(), []);
    assert_eq!(world.store().due(agent.created, None, 10).await.unwrap(), []);
    assert_eq!(model.requests().len(), 0);
}

/// Shows: S1-R033, S4-R015.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_arrives_while_a_tool_works_is_read_before_the_next_model_call() {
    let model = ScriptedModel::new([Script::call("slow", json!({})), Script::text("Done, in red.")]);
    let (started, release) =
        (std::sync::Arc::new(tokio::sync::Notify::new()), std::sync::Arc::new(std::sync::Barrier::new(2)));
    let (signal, gate) = (started.clone(), release.clone());
    let slow = TestTool::answering("slow", Effect::Pure, &Effects::default(), move |_, _| {
        signal.notify_one();
        tokio::task::block_in_place(|| gate.wait());
        Ok(Outcome::text("worked"))
    });
    // The tool blocks its thread, so the world needs one more.
    let world =
        World::builder(model.clone()).tools(Toolbox::new().with(slow)).kinds(one_kind(|_| {})).start().await;
    let agent = world.ask("Paint it.").await;
    started.notified().await;
    world.client().send(agent.id, "In red, please.", None).await.unwrap();
    release.wait();
    world.ended(agent.id).await;
    let items = world.client().items(agent.id, 0, 10).await.unwrap();
    assert_eq!(
        plain(&items),
        [
            "message: Paint it.",
            "turn: [slow{}]",
            "output: worked",
            "message: In red, please.",
            "turn: Done, in red.[]"
        ]
    );
}

#[tokio::test]
async fn a_request_repeated_under_its_idempotency_key_takes_effect_once() {
    let model = ScriptedModel::new([Script::text("One."), Script::text("Two.")]);
    let world = World::scripted(&model, first_tools()).await;
    let client = world.client();
    let new = NewAgent { message: Some("Once".into()), ..NewAgent::default() };
    let (first, second) =
        tokio::join!(client.create(new.clone(), Some("k")), client.create(new.clone(), Some("k")));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.id, second.id);
    world.ended(first.id).await;
    let one = client.send(first.id, "more", Some("m")).await.unwrap();
    let two = client.send(first.id, "more", Some("m")).await.unwrap();
    assert_eq!(one, two);
    let other = client.send(first.id, "something else", Some("m")).await;
    assert!(matches!(other, Err(entourage_engine::Error::KeyReused)), "{other:?}");
    let agents = client.roots(None, Page::default()).await.unwrap();
    assert_eq!(agents.len(), 1);
}

/// Shows: S4-R148.
#[tokio::test]
async fn an_unknown_kind_or_an_invalid_message_is_refused_and_creates_no_agent() {
    let world = World::scripted(&ScriptedModel::new([]), first_tools()).await;
    let client = world.client();
    let unknown =
        NewAgent { kind: Some("oracle".into()), message: Some("hi".into()), title: None, parent: None };
    let error = client.create(unknown, None).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no kind `oracle`; there are: assistant, documents, explorer, general, goal, orchestrator, researcher, task, \
         user_agent"
    );
    let blank = NewAgent { message: Some(" \n ".into()), ..NewAgent::default() };
    assert!(client.create(blank, None).await.unwrap_err().to_string().contains("empty"));
    let huge = NewAgent { message: Some("x".repeat(2 << 20)), ..NewAgent::default() };
    assert!(client.create(huge, None).await.unwrap_err().to_string().contains("bytes"));
    assert_eq!(client.agents(None, Page::default()).await.unwrap(), []);
    let stranger = entourage_types::AgentId::new();
    assert!(matches!(client.send(stranger, "hi", None).await, Err(entourage_engine::Error::NotFound { .. })));
}

#[tokio::test]
async fn an_owner_never_sees_another_owners_agents() {
    let model = ScriptedModel::new([Script::text("Mine.")]);
    let world = World::scripted(&model, first_tools()).await;
    let agent = world.ask("mine").await;
    world.ended(agent.id).await;
    let other = world.engine().client(entourage_types::Owner::new("other"));
    assert!(other.agent(agent.id).await.is_err());
    assert!(other.items(agent.id, 0, 10).await.is_err());
    assert!(other.send(agent.id, "hi", None).await.is_err());
    assert!(other.watch(agent.id, 0).await.is_err());
    assert_eq!(other.agents(None, Page::default()).await.unwrap(), []);
    assert_eq!(other.tree_runs(agent.id).await.unwrap(), []);
}
