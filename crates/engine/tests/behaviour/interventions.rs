//! What a person does to an agent of a live tree, at work or asleep.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::kit::{Effects, TestTool, WorldBuilderExt, WorldExt, at_once, first_tools, one_kind};
use async_trait::async_trait;
use entourage_engine::{Error, dispatch};
use entourage_llm::{Error as ModelError, Message, Request, Script, ScriptedModel};
use entourage_store::{Claim, Commit, Committed, MemoryStore, Page, Store, StoreLayer, Write};
use entourage_testkit::{Fault, Faults, HeldModel, World, plain};
use entourage_tools::{Effect, Toolbox};
use entourage_types::{
    Action, Agent, AgentId, Answer, Author, Event, EventBody, Input, InterventionStatus, Owner, Post,
    PostBody, PostId, QuestionStatus, Status, Time, WaitingOn, Wakeup, WakeupId,
};
use serde_json::json;
use tokio::sync::Semaphore;

/// A client of the process that works.
fn person(world: &World) -> entourage_engine::Client {
    world.engine().client(Owner::local())
}

async fn wait_until_paused(world: &World, agent: &Agent) {
    let on = Some(WaitingOn::Resume);
    world
        .until(
            agent.root,
            |event| matches!(event.body, EventBody::AgentStatus { waiting_on, .. } if waiting_on == on),
        )
        .await;
}

async fn lines(world: &World, agent: AgentId) -> Vec<String> {
    let items = world.client().items(agent, 0, 1000).await.unwrap();
    plain(&items)
}

async fn actions(world: &World, agent: AgentId) -> Vec<(Action, InterventionStatus)> {
    let done = world.client().interventions(agent, Page::default()).await.unwrap();
    done.iter().map(|done| (done.action, done.status)).collect()
}

#[tokio::test]
async fn a_paused_agent_finishes_its_step_and_starts_no_call_until_resumed() {
    let model = HeldModel::new(ScriptedModel::new([Script::call("put", json!({})), Script::text("Done.")]));
    let effects = Effects::default();
    let tools = Toolbox::new().with(TestTool::new("put", Effect::Idempotent, &effects));
    let world = World::builder(model.clone()).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await;
    model.begun().await;
    let asked = person(&world).intervene(root.id, Action::Pause, Some("wait for Monday")).await.unwrap();
    assert_eq!(asked.status, InterventionStatus::Pending);
    model.let_go(2);
    wait_until_paused(&world, &root).await;
    assert_eq!(effects.per_call(), [] as [u32; 0], "the call that the model asked for has not begun");
    person(&world).send(root.id, "And another thing.", None).await.unwrap();
    world.engine().advance(root.id).await.unwrap();
    assert_eq!(world.client().agent(root.id).await.unwrap().waiting_on, Some(WaitingOn::Resume));

    person(&world).intervene(root.id, Action::Resume, None).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = lines(&world, root.id).await;
    assert_eq!(lines[2..], ["output: put: {}", "message: And another thing.", "turn: Done.[]"]);
    let applied = InterventionStatus::Applied;
    assert_eq!(actions(&world, root.id).await, [(Action::Pause, applied), (Action::Resume, applied)]);
    let again = person(&world).intervene(root.id, Action::Resume, None).await;
    assert!(matches!(again, Err(Error::NotNow { .. })), "{again:?}");
}

/// The store names what is in an inbox in any order.
#[tokio::test]
async fn what_a_person_did_while_the_model_was_asked_is_applied_in_its_order() {
    let model = HeldModel::new(ScriptedModel::new([Script::call("put", json!({})), Script::text("Done.")]));
    let effects = Effects::default();
    let tools = Toolbox::new().with(TestTool::new("put", Effect::Idempotent, &effects));
    let builder = World::builder(model.clone()).tools(tools).kinds(one_kind(|_| {}));
    let world = builder.store(MemoryStore::default()).start().await;
    let root = world.ask("Go.").await;
    model.begun().await;
    person(&world).intervene(root.id, Action::Pause, None).await.unwrap();
    person(&world).send(root.id, "First.", None).await.unwrap();
    person(&world).intervene(root.id, Action::Resume, None).await.unwrap();
    person(&world).send(root.id, "Second.", None).await.unwrap();
    model.let_go(2);
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = lines(&world, root.id).await;
    assert_eq!(lines[2..], ["output: put: {}", "message: First.", "message: Second.", "turn: Done.[]"]);
}

/// Shows: S3-R017.
#[tokio::test]
async fn an_answer_given_during_a_pause_is_read_after_the_resume() {
    let model = ScriptedModel::new([
        Script::call("ask_user", json!({"question": "Which colour?"})),
        Script::text("Painted."),
    ]);
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Paint it.").await;
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    person(&world).intervene(root.id, Action::Pause, None).await.unwrap();
    wait_until_paused(&world, &root).await;
    person(&world).answer(question.id, Answer::Text("red".into())).await.unwrap();
    world.engine().advance(root.id).await.unwrap();
    assert_eq!(model.requests().len(), 1);
    let world = world.restart(Faults::default()).await;
    person(&world).intervene(root.id, Action::Resume, None).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(lines(&world, root.id).await[2], "output: red");
}

#[tokio::test]
async fn an_idle_agent_is_paused_and_resumed_without_a_new_run() {
    let model = ScriptedModel::new([Script::text("Hello."), Script::text("Here.")]);
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("hi").await;
    world.ended(root.id).await;
    person(&world).intervene(root.id, Action::Pause, None).await.unwrap();
    wait_until_paused(&world, &root).await;
    person(&world).intervene(root.id, Action::Resume, None).await.unwrap();
    let seen = world
        .until(root.id, |event| {
            matches!(&event.body, EventBody::Intervention { intervention }
                if (intervention.action, intervention.status) == (Action::Resume, InterventionStatus::Applied))
        })
        .await;
    assert!(seen.len() > 4);
    assert_eq!(world.client().agent(root.id).await.unwrap().status, Status::Succeeded);
    assert_eq!(world.client().runs(root.id, Page::default()).await.unwrap().len(), 1);
    assert_eq!(model.requests().len(), 1);
}

/// For up to a day, by the call itself.
#[tokio::test]
async fn an_agent_in_a_long_wait_reads_a_message_when_it_wakes_and_a_new_instruction_at_once() {
    for action in [Action::Steer, Action::Modify] {
        let wait = Script::call("wait", json!({ "seconds": 86_400 }));
        let model = ScriptedModel::new([wait, Script::text("Done.")]);
        let world = World::scripted(&model, first_tools()).await;
        let root = world.ask("Wait a day.").await;
        world.asleep(&root).await;
        person(&world).intervene(root.id, action, Some("Hurry.")).await.unwrap();
        if action == Action::Steer {
            world.engine().advance(root.id).await.unwrap();
            assert_eq!(model.requests().len(), 1, "it sleeps on");
            assert_eq!(person(&world).why(root.id).await.unwrap().unread(), ["message"]);
            world.clock().advance(Duration::from_secs(86_401));
        }
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded, "{action}");
        let last = model.requests().remove(1);
        assert!(format!("{:?}", last.messages.last()).contains("Hurry."), "{action}: {last:?}");
        assert!(person(&world).why(root.id).await.unwrap().unread().is_empty());
    }
}

/// Shows: S3-R012.
#[tokio::test]
async fn a_comment_is_recorded_as_an_event_and_never_shown_to_the_agent() {
    let model = ScriptedModel::new([Script::text("Hello."), Script::text("Still here.")]);
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("hi").await;
    world.ended(root.id).await;
    let done = person(&world).intervene(root.id, Action::Comment, Some("looks good")).await.unwrap();
    assert_eq!((done.status, done.text.as_deref()), (InterventionStatus::Applied, Some("looks good")));
    let empty = person(&world).intervene(root.id, Action::Comment, None).await;
    assert!(matches!(empty, Err(Error::Invalid(_))), "{empty:?}");
    world
        .until(root.id, |event| {
            matches!(&event.body, EventBody::Intervention { intervention } if intervention.text == done.text)
        })
        .await;
    world.client().send(root.id, "and now?", None).await.unwrap();
    world.until(root.id, |event| matches!(&event.body, EventBody::Item { item_seq: 3, .. })).await;
    assert!(!format!("{:?}", model.requests()).contains("looks good"));
}

#[tokio::test]
async fn a_queued_message_waits_for_the_next_run_and_a_steer_does_not() {
    let model = HeldModel::new(ScriptedModel::new([
        Script::call("read", json!({})),
        Script::text("First."),
        Script::text("Second."),
    ]));
    let tools = Toolbox::new().with(TestTool::new("read", Effect::Pure, &Effects::default()));
    let kinds = one_kind(|kind| kind.input = Input::Queue);
    let world = World::builder(model.clone()).tools(tools).kinds(kinds).start().await;
    let root = world.ask("Go.").await;
    model.begun().await;
    person(&world).send(root.id, "Later.", None).await.unwrap();
    person(&world).intervene(root.id, Action::Steer, Some("To the left.")).await.unwrap();
    model.let_go(3);
    world.until(root.id, |event| matches!(&event.body, EventBody::Item { item_seq: 6, .. })).await;
    let lines = lines(&world, root.id).await;
    assert_eq!(
        lines[2..],
        ["output: read: {}", "message: To the left.", "turn: First.[]", "message: Later.", "turn: Second.[]"]
    );
    assert_eq!(world.client().runs(root.id, Page::default()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_kind_can_refuse_messages_during_a_run_or_restart_the_run_for_them() {
    for (input, refused) in [(Input::Refuse, true), (Input::Interrupt, false)] {
        let model = HeldModel::new(ScriptedModel::new([Script::text("Yes.")]));
        let kinds = one_kind(|kind| kind.input = input);
        let world = World::builder(model.clone()).kinds(kinds).start().await;
        let root = world.ask("Go.").await;
        model.begun().await;
        let sent = person(&world).send(root.id, "Stop, do this.", Some("k")).await;
        assert_eq!(matches!(sent, Err(Error::AtWork(_))), refused, "{sent:?}");
        if !refused {
            model.begun().await;
            assert_eq!(model.cut_off(), 1, "the first request was of no use any more");
            let again = person(&world).send(root.id, "Stop, do this.", Some("k")).await;
            assert_eq!(again.unwrap(), sent.unwrap());
            // A cut-off call would notice that before this test continues.
            tokio::task::yield_now().await;
            assert_eq!(model.cut_off(), 1, "the second one answers that very message");
        }
        model.let_go(1);
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
        let lines = lines(&world, root.id).await;
        let heard = lines.iter().filter(|line| *line == "message: Stop, do this.").count();
        assert_eq!(heard, usize::from(!refused), "{lines:?}");
    }
}

/// The sender may not know whether it was accepted: a killed server returns nothing.
#[tokio::test]
async fn a_repeated_key_returns_the_first_message_whatever_the_agents_status() {
    for input in [Input::Steer, Input::Queue, Input::Interrupt, Input::Refuse] {
        let model = HeldModel::new(ScriptedModel::new([Script::text("Yes."), Script::text("Done.")]));
        let kinds = one_kind(|kind| kind.input = input);
        let world = World::builder(model.clone()).kinds(kinds).start().await;
        let root = world.ask("Are you there?").await;
        model.begun().await;
        model.let_go(1);
        world.ended(root.id).await;
        let send = async |key| person(&world).send(root.id, "Do this.", Some(key)).await;
        let first = send("k").await.unwrap();
        model.begun().await;
        assert_eq!(send("k").await.unwrap(), first, "{input:?}, while it is answered");
        // A cut-off call would notice that before this test continues.
        tokio::task::yield_now().await;
        assert_eq!(model.cut_off(), 0, "{input:?}");
        model.let_go(1);
        world.ended(root.id).await;
        assert_eq!(send("k").await.unwrap(), first, "{input:?}, after the answer");
        person(&world).intervene(root.id, Action::Delete, None).await.unwrap();
        assert_eq!(send("k").await.unwrap(), first, "{input:?}, of one that is gone");
        let other = send("another").await;
        assert!(matches!(other, Err(Error::Gone(_))), "{input:?}: {other:?}");
        let lines = lines(&world, root.id).await;
        assert_eq!(lines[2..4], ["message: Do this.", "turn: Done.[]"], "{input:?}");
        assert_eq!(lines.iter().filter(|line| *line == "message: Do this.").count(), 1, "{lines:?}");
        assert_eq!(world.audit().await, []);
    }
}

/// Shows: S3-R017.
#[tokio::test]
async fn modify_expires_the_open_question_and_runs_the_new_instruction() {
    let model = ScriptedModel::new([
        Script::call("ask_user", json!({"question": "Which colour?"})),
        Script::text("I dance."),
    ]);
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Paint it.").await;
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    person(&world).intervene(root.id, Action::Modify, Some("Dance instead.")).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = lines(&world, root.id).await;
    assert!(lines[2].starts_with("output!: not answered: the user changed the work"), "{lines:?}");
    assert_eq!(lines[3..], ["message: Dance instead.", "turn: I dance.[]"]);
    let question = world.client().question(question.id).await.unwrap();
    assert_eq!(question.status, QuestionStatus::Expired);
    assert_eq!(actions(&world, root.id).await, [(Action::Modify, InterventionStatus::Applied)]);
}

/// With one worker, the sub-agent of the dropped work is deleted only after the new work has begun.
#[tokio::test]
async fn modify_delegates_the_new_work_to_a_new_sub_agent() {
    let model = ScriptedModel::deciding(|request: &Request| {
        let researcher = request.system.contains("You are the Researcher");
        Some(Ok(match (researcher, request.messages.last()) {
            (true, Some(Message::User(text))) if text.contains("first") => {
                Script::call("ask_user", json!({"question": "Which?"}))
            }
            (true, _) => Script::text("It is there."),
            (false, Some(Message::User(text))) if text.contains("second") => {
                Script::call("send_message", json!({"recipient": "researcher", "message": "second"}))
            }
            (false, Some(Message::User(_))) => {
                Script::call("send_message", json!({"recipient": "researcher", "message": "first"}))
            }
            (false, Some(Message::Output { text, .. })) => Script::text(format!("<{text}>")),
            _ => Script::text("?"),
        }))
    });
    let world = World::builder(model).tools(first_tools()).dispatchers(at_once(1)).start().await;
    let root = world.ask("Find the first.").await;
    world.question(root.id).await;
    world.asleep(&root).await;
    person(&world).intervene(root.id, Action::Modify, Some("Find the second.")).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = lines(&world, root.id).await;
    assert_eq!(lines.last().map(String::as_str), Some("turn: <It is there.>[]"), "{lines:?}");
}

#[tokio::test]
async fn modify_cancels_the_sub_agent_of_the_dropped_work() {
    let model = ScriptedModel::deciding(|request: &Request| {
        let researcher = request.system.contains("You are the Researcher");
        Some(Ok(match (researcher, request.messages.last()) {
            (true, _) => Script::call("ask_user", json!({"question": "Which?"})),
            (false, Some(Message::User(text))) if text.contains("Dance") => Script::text("I dance."),
            _ => Script::call("send_message", json!({"recipient": "researcher", "message": "look"})),
        }))
    });
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Find it.").await;
    world.question(root.id).await;
    world.asleep(&root).await;
    person(&world).intervene(root.id, Action::Modify, Some("Dance instead.")).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let child = world.client().tree(root.id).await.unwrap()[1].clone();
    world
        .until(root.id, |event| {
            event.agent == child.id
                && matches!(event.body, EventBody::AgentStatus { status: Status::Cancelled, .. })
        })
        .await;
    let lines = lines(&world, root.id).await;
    assert_eq!(lines.last().map(String::as_str), Some("turn: I dance.[]"), "{lines:?}");
    // No subscriber waits for a result: no agent reads one.
    let events = world.client().events(root.id, None, 1000).await.unwrap();
    let ended: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Task { task } if task.status.is_terminal() => Some((task.status, &task.result)),
            _ => None,
        })
        .collect();
    assert_eq!(ended.first(), Some(&(Status::Cancelled, &None)));
    assert!(ended.iter().all(|(_, result)| result.is_none()), "{ended:?}");

    // The next work goes to a new agent.
    world.client().send(root.id, "Find it after all.", None).await.unwrap();
    world
        .until(root.id, |event| matches!(event.body, EventBody::AgentCreated { .. }) && event.seq > 20)
        .await;
    assert_eq!(world.client().tree(root.id).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_sub_agent_of_earlier_work_survives_modify_and_keeps_its_transcript() {
    let model = ScriptedModel::deciding(|request: &Request| {
        let researcher = request.system.contains("You are the Researcher");
        let write =
            |message| Script::call("send_message", json!({"recipient": "researcher", "message": message}));
        Some(Ok(match (researcher, request.messages.last()) {
            (true, Some(Message::User(text))) if text.contains("look") => {
                Script::call("ask_user", json!({"question": "Which?"}))
            }
            (true, _) => Script::text("I remember."),
            (false, Some(Message::User(text))) if text.contains("Greet") => write("hello"),
            (false, Some(Message::User(text))) if text.contains("Find") => write("look"),
            (false, Some(Message::User(text))) if text.contains("Part") => write("goodbye"),
            _ => Script::text("Done."),
        }))
    });
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Greet it.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    world.client().send(root.id, "Find it.", None).await.unwrap();
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    let before = world.client().last_event(root.id).await.unwrap();
    person(&world).intervene(root.id, Action::Modify, Some("Part instead.")).await.unwrap();
    let over =
        |event: &Event| matches!(event.body, EventBody::AgentStatus { status, .. } if status.is_terminal());
    world.until(root.id, |event| event.agent == root.id && event.seq > before && over(event)).await;
    let question = world.client().question(question.id).await.unwrap();
    assert_eq!(question.status, QuestionStatus::Expired);
    let tree = world.client().tree(root.id).await.unwrap();
    assert_eq!(tree.len(), 2, "nobody was made anew: {tree:?}");
    let heard: Vec<_> = lines(&world, tree[1].id).await;
    let [hello, look, goodbye] = ["message: hello", "message: look", "message: goodbye"].map(|text| {
        heard.iter().position(|line| line == text).unwrap_or_else(|| panic!("{text}: {heard:?}"))
    });
    assert!(hello < look && look < goodbye, "{heard:?}");
    assert_eq!(heard.last().map(String::as_str), Some("turn: I remember.[]"));
}

#[tokio::test]
async fn retry_restarts_a_failed_run_and_makes_a_waiting_attempt_at_once() {
    let model = ScriptedModel::new([]);
    model.push(Err(ModelError::Refused { model: "m".into(), cause: "no credit".into() }));
    let slow = Duration::from_secs(120);
    model.push(Err(ModelError::RateLimited { model: "m".into(), retry_after: Some(slow) }));
    model.push(Ok(Script::text("Here.")));
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Hello?").await;
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    person(&world).intervene(root.id, Action::Retry, None).await.unwrap();
    world
        .until(root.id, |event| {
            matches!(event.body, EventBody::AgentStatus { waiting_on: Some(WaitingOn::Retry), .. })
        })
        .await;
    person(&world).intervene(root.id, Action::Retry, None).await.unwrap();
    world
        .until(root.id, |event| {
            matches!(event.body, EventBody::AgentStatus { status: Status::Succeeded, .. })
        })
        .await;
    assert_eq!(model.requests().len(), 3, "without waiting for the two minutes");
    let applied = (Action::Retry, InterventionStatus::Applied);
    assert!(actions(&world, root.id).await.ends_with(&[applied, applied]));
    assert_eq!(world.store().inbox(root.id).await.unwrap(), [], "what was heeded is read");
    let done = person(&world).intervene(root.id, Action::Retry, None).await;
    assert!(matches!(done, Err(Error::NotNow { .. })), "{done:?}");
}

/// A paused agent begins nothing, so that a retry which arrives with the pause is made once it is
/// resumed.
#[tokio::test]
async fn a_retry_posted_with_a_pause_is_applied_after_the_resume() {
    let model = ScriptedModel::new([]);
    model.push(Err(ModelError::Refused { model: "m".into(), cause: "no credit".into() }));
    model.push(Ok(Script::text("Here.")));
    let world = World::builder(model.clone()).tools(first_tools()).start().await;
    let root = world.ask("Hello?").await;
    assert_eq!(world.ended(root.id).await.status, Status::Failed);
    // No process works while both are posted.
    world.faults().kill();
    world.client().intervene(root.id, Action::Pause, None).await.unwrap();
    world.client().intervene(root.id, Action::Retry, None).await.unwrap();
    let world = world.restart(Faults::default()).await;
    wait_until_paused(&world, &root).await;
    let (pending, applied) = (InterventionStatus::Pending, InterventionStatus::Applied);
    assert_eq!(actions(&world, root.id).await, [(Action::Pause, applied), (Action::Retry, pending)]);
    assert_eq!(world.inconsistencies().await, [""; 0], "it waits for the resume");
    person(&world).intervene(root.id, Action::Resume, None).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(model.requests().len(), 2);
    assert!(actions(&world, root.id).await.iter().all(|(_, status)| *status == applied));
    assert_eq!(world.store().inbox(root.id).await.unwrap(), []);
    assert_eq!(world.audit().await, []);
}

/// An orchestrator delegates work to a researcher, which asks and answers.
fn delegates(request: &Request) -> Script {
    let researcher = request.system.contains("You are the Researcher");
    match (researcher, request.messages.last()) {
        (false, Some(Message::User(_))) => {
            Script::call("send_message", json!({"recipient": "researcher", "message": "look"}))
        }
        (false, Some(Message::Output { text, .. })) => Script::text(format!("Found: {text}")),
        (true, Some(Message::User(_))) => Script::call("ask_user", json!({"question": "Which?"})),
        (true, Some(Message::Output { text, .. })) => Script::text(format!("the {text} one")),
        (_, other) => Script::text(format!("unexpected {other:?}")),
    }
}

/// Asserts that all agents of the tree have ended, and no work is left.
async fn assert_all_cancelled(world: &World, root: AgentId) {
    for agent in world.client().tree(root).await.unwrap() {
        assert_eq!((agent.status, agent.waiting_on), (Status::Cancelled, None));
        lines(world, agent.id).await;
        let runs = world.client().runs(agent.id, Page::default()).await.unwrap();
        assert!(runs.iter().all(|run| run.status.is_terminal()), "{runs:?}");
    }
    let open = Some(QuestionStatus::Open);
    assert_eq!(world.client().questions(Some(root), open, Page::default()).await.unwrap(), []);
}

/// Shows: S3-R019, INV-05.
#[tokio::test]
async fn deleting_an_agent_cancels_every_agent_below_it() {
    let model = HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(delegates(request)))));
    let world = World::builder(model.clone()).tools(first_tools()).start().await;
    let root = world.ask("Find it.").await;
    model.begun().await;
    model.let_go(1);
    // The researcher is in the middle of a model call, and its orchestrator waits for it.
    model.begun().await;
    person(&world).intervene(root.id, Action::Delete, Some("enough")).await.unwrap();
    assert_all_cancelled(&world, root.id).await;
    let items = world.client().tree(root.id).await.unwrap().iter().map(|agent| agent.items).sum::<u64>();
    model.let_go(10);
    world.engine().advance(root.id).await.unwrap();
    let due = world.store().due(Time::from_micros(i64::MAX), None, 10).await.unwrap();
    assert_eq!(due, [], "nothing wakes anybody");
    assert_eq!(model.cut_off(), 1);
    let after = world.client().tree(root.id).await.unwrap().iter().map(|agent| agent.items).sum::<u64>();
    assert_eq!(items, after);
    let gone = person(&world).send(root.id, "still there?", None).await;
    assert!(matches!(gone, Err(Error::Gone(_))), "{gone:?}");
    assert_eq!(actions(&world, root.id).await, [(Action::Delete, InterventionStatus::Applied)]);
}

#[tokio::test]
async fn deleting_a_sub_agent_returns_an_error_output_to_its_parent() {
    let world =
        World::scripted(&ScriptedModel::deciding(|request| Some(Ok(delegates(request)))), first_tools())
            .await;
    let root = world.ask("Find it.").await;
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    person(&world).intervene(question.agent, Action::Delete, None).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(lines(&world, root.id).await[2], "output!: deleted by the user");
    assert_eq!(world.client().agent(question.agent).await.unwrap().status, Status::Cancelled);
}

/// Deletes a tree while its researcher asks, with these faults; returns how many commits there
/// were.
async fn delete_with(workers: usize, at: u64, fault: Fault) -> u64 {
    let model = ScriptedModel::deciding(|request| Some(Ok(delegates(request))));
    let builder = World::builder(model)
        .tools(first_tools())
        .dispatchers(vec![dispatch::Settings::default(); workers])
        .store(MemoryStore::default());
    let world = builder.start_with(at, fault).await;
    let faults = world.faults().clone();
    let root = world.ask("Find it.").await;
    let asked = async {
        world.question(root.id).await;
        world.asleep(&root).await;
    };
    faults.unless_dead(asked).await;
    let told = person(&world).intervene(root.id, Action::Delete, None).await;
    if told.is_err() {
        // A person without an answer asks again, of another process while no process works: what
        // was done is reported as done, and the rest is done now.
        faults.unless_dead(async {}).await;
        let was_done = world.client().agent(root.id).await.unwrap().status == Status::Cancelled;
        let again = world.client().intervene(root.id, Action::Delete, None).await;
        assert_eq!(matches!(again, Err(Error::Gone(_))), was_done, "{again:?}");
        assert_eq!(again.is_ok(), !was_done, "{again:?}");
    }
    assert_all_cancelled(&world, root.id).await;
    let world = world.restart(Faults::default()).await;
    assert_all_cancelled(&world, root.id).await;
    faults.commits()
}

/// Does something in a world whose process may die meanwhile; then it happens in the next process.
pub(crate) async fn repeat_after_a_crash(world: World, happens: impl AsyncFn(&World)) -> World {
    let faults = world.faults().clone();
    if faults.unless_dead(happens(&world)).await.is_some() {
        return world;
    }
    let world = world.restart(Faults::default()).await;
    happens(&world).await;
    world
}

/// Does this to the agent once: without an answer, it verifies whether it was done before doing it
/// again.
pub(crate) async fn intervene_once(
    world: World,
    agent: AgentId,
    action: Action,
    text: Option<&str>,
) -> World {
    let told = person(&world).intervene(agent, action, text).await;
    let Err(error) = told else { return world };
    assert!(world.faults().is_dead(), "{error:?}");
    let world = world.restart(Faults::default()).await;
    let done = world.client().interventions(agent, Page::default()).await.unwrap();
    if !done.iter().any(|done| done.action == action && done.text.as_deref() == text) {
        person(&world).intervene(agent, action, text).await.unwrap();
    }
    world
}

/// An agent that asks gets another instruction, or is paused, answered and resumed, with these
/// faults; returns how many commits there were.
async fn intervene_with(modifies: bool, at: u64, fault: Fault) -> u64 {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text.starts_with("Paint") => {
                Script::call("ask_user", json!({"question": "Which colour?"}))
            }
            Some(Message::User(text) | Message::Output { text, .. }) => Script::text(format!("<{text}>")),
            _ => Script::text("unexpected"),
        }))
    });
    let builder =
        World::builder(model).tools(first_tools()).kinds(one_kind(|_| {})).store(MemoryStore::default());
    let world = builder.start_with(at, fault).await;
    let faults = world.faults().clone();
    let root = world.ask("Paint it.").await;
    let mut world = repeat_after_a_crash(world, async |world| {
        world.question(root.id).await;
        world.asleep(&root).await;
    })
    .await;
    let question = world.question(root.id).await;
    let applied = InterventionStatus::Applied;
    let ends = async |world: &World| {
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    };
    let (done, heard) = if modifies {
        world = intervene_once(world, root.id, Action::Modify, Some("Dance.")).await;
        world = repeat_after_a_crash(world, ends).await;
        assert_eq!(world.client().question(question.id).await.unwrap().status, QuestionStatus::Expired);
        (vec![(Action::Modify, applied)], ["message: Dance.", "turn: <Dance.>[]"])
    } else {
        world = intervene_once(world, root.id, Action::Pause, None).await;
        world = repeat_after_a_crash(world, async |world| wait_until_paused(world, &root).await).await;
        let told = person(&world).answer(question.id, Answer::Text("red".into())).await;
        if told.is_err() {
            assert!(world.faults().is_dead(), "{told:?}");
            world = world.restart(Faults::default()).await;
            let now = world.client().question(question.id).await.unwrap().status;
            if now == QuestionStatus::Open {
                person(&world).answer(question.id, Answer::Text("red".into())).await.unwrap();
            }
        }
        world = intervene_once(world, root.id, Action::Resume, None).await;
        world = repeat_after_a_crash(world, ends).await;
        (vec![(Action::Pause, applied), (Action::Resume, applied)], ["output: red", "turn: <red>[]"])
    };
    // A process may die after everything was done.
    let world = world.restart(Faults::default()).await;
    ends(&world).await;
    let lines = lines(&world, root.id).await;
    assert_eq!(lines[lines.len() - 2..], heard);
    assert_eq!(actions(&world, root.id).await, done);
    assert_eq!(world.audit().await, []);
    faults.commits()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modify_pause_and_resume_survive_a_crash_at_every_commit() {
    for modifies in [true, false] {
        let commits = intervene_with(modifies, u64::MAX, Fault::DieBefore).await;
        assert!(commits > 5, "{commits}");
        for at in 1..=commits {
            for fault in Fault::ENDING {
                println!("{fault:?} at commit {at}");
                intervene_with(modifies, at, fault).await;
            }
        }
    }
}

/// Shows: S3-R018, INV-05.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletion_survives_a_crash_at_every_commit() {
    // The person's own commits count: they have no fence.
    let commits = delete_with(1, u64::MAX, Fault::DieBefore).await;
    assert!(commits > 7, "{commits}");
    for workers in 1..=2 {
        for at in 1..=commits {
            for fault in Fault::ENDING {
                delete_with(workers, at, fault).await;
            }
        }
    }
}

#[tokio::test]
async fn a_message_posted_during_a_deletion_is_read_and_leaves_no_wake_up() {
    let world = World::scripted(&ScriptedModel::new([Script::text("Done.")]), first_tools()).await;
    let root = world.ask("Go.").await;
    let root = world.ended(root.id).await;
    person(&world).intervene(root.id, Action::Delete, None).await.unwrap();
    // A sender that read the agent before the deletion posts after it.
    let (at, wakeup) = (root.updated, WakeupId::new());
    let body = PostBody::Message {
        from: Author::User,
        text: "and then?".into(),
        task: None,
        queued: false,
        options: None,
    };
    let mut late = Commit::new(at);
    late.post(Post { id: PostId::new(), agent: root.id, at, wakeup, body }, &root.owner);
    world.store().commit(late).await.unwrap();
    let told = root.items;
    world
        .until(root.id, |event| matches!(event.body, EventBody::Item { item_seq, .. } if item_seq >= told))
        .await;
    assert_eq!(lines(&world, root.id).await.last().unwrap(), "message: and then?");
    assert_eq!(world.store().due(Time::from_micros(i64::MAX), None, 10).await.unwrap(), []);
    assert_eq!(world.audit().await, []);
}

/// Holds the commit that creates a child until it may be applied.
struct HoldsSpawn {
    has_come: Arc<Semaphore>,
    may_land: Arc<Semaphore>,
}

#[async_trait]
impl StoreLayer for HoldsSpawn {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> entourage_store::Result<Committed> {
        let spawns = |write: &Write| matches!(write, Write::NewAgent(agent) if agent.parent.is_some());
        if commit.writes.iter().any(spawns) {
            self.has_come.add_permits(1);
            self.may_land.acquire().await.unwrap().forget();
        }
        store.commit(commit).await
    }
}

/// More work on a task that had succeeded is unread when its agent is deleted: the task was under
/// way again.
#[tokio::test]
async fn a_reactivated_task_is_reported_queued_before_a_deletion_cancels_it() {
    let model = ScriptedModel::deciding(|request| {
        let is_lead = request.system.contains("You are the Researcher");
        Some(Ok(match request.messages.len() {
            1 if !is_lead => Script::call("spawn_agent", json!({"kind": "researcher", "task": "look"})),
            _ => Script::text("It is so."),
        }))
    });
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Go.").await;
    let is_done =
        |event: &Event| matches!(&event.body, EventBody::Task { task } if task.status == Status::Succeeded);
    world.until(root.id, is_done).await;
    let task = world.client().tasks(Some(root.id), None, Page::default()).await.unwrap().remove(0);
    let body = PostBody::Message {
        from: Author::Agent { id: root.id, kind: root.kind.clone() },
        text: "go on".into(),
        task: Some(task.id),
        queued: false,
        options: None,
    };
    let post = Post { id: PostId::new(), agent: task.to, at: task.updated, wakeup: WakeupId::new(), body };
    // It is read together with the deletion and not before.
    let due = Time::from_micros(task.updated.micros() + 3_600_000_000);
    let wakeup = Wakeup { id: post.wakeup, ..Wakeup::new(task.to, Owner::local(), due) };
    let commit = Commit::new(task.updated).write(Write::ScheduleWakeup(wakeup)).write(Write::Post(post));
    world.store().commit(commit).await.unwrap();
    person(&world).intervene(task.to, Action::Delete, None).await.unwrap();
    let is_over =
        |event: &Event| matches!(&event.body, EventBody::Task { task } if task.status == Status::Cancelled);
    world.until(root.id, is_over).await;
    let events = world.client().events(root.id, 0, 1000).await.unwrap();
    let told = events.iter().filter_map(|event| match &event.body {
        EventBody::Task { task } => Some(task.status),
        _ => None,
    });
    let expected = [Status::Queued, Status::Succeeded, Status::Queued, Status::Cancelled];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    world.ended(root.id).await;
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_child_created_while_its_parent_is_being_deleted_is_deleted_too() {
    let (has_come, may_land) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let holds = HoldsSpawn { has_come: Arc::clone(&has_come), may_land: Arc::clone(&may_land) };
    // The child waits for a person: a result from it would make its parent read the deletion once
    // more.
    let model = ScriptedModel::deciding(|request| {
        let is_child = request.system.contains("You are the Researcher");
        Some(Ok(match is_child {
            true => Script::call("ask_user", json!({"question": "Which one?"})),
            false => Script::call("spawn_agent", json!({"kind": "researcher", "task": "Find it."})),
        }))
    });
    let world =
        World::builder(model).tools(first_tools()).store(MemoryStore::default()).between(holds).start().await;
    let root = world.ask("Find it.").await;
    has_come.acquire().await.unwrap().forget();
    let (client, id) = (person(&world), root.id);
    let deletion = tokio::spawn(async move { client.intervene(id, Action::Delete, None).await });
    // The deletion now waits for the activation, which has the commit under way.
    let waits = Duration::from_secs(5);
    assert_eq!(world.clock().sleeper(waits).await, waits);
    may_land.add_permits(1);
    deletion.await.unwrap().unwrap();
    let tree = world.client().tree(root.id).await.unwrap();
    let statuses: Vec<Status> = tree.iter().map(|agent| agent.status).collect();
    assert_eq!(statuses, [Status::Cancelled; 2], "the child has landed, and is deleted with its maker");
    assert_eq!(world.audit().await, []);
}

/// Another process has the commit that creates a child under way while an agent is deleted, and it
/// is applied just before the deletion claims the agent.
#[derive(Clone)]
struct LandsBeforeClaim {
    holds: Arc<AtomicBool>,
    has_come: Arc<Semaphore>,
    may_land: Arc<Semaphore>,
    has_landed: Arc<Semaphore>,
}

#[async_trait]
impl StoreLayer for LandsBeforeClaim {
    async fn claim(
        &self,
        store: &Arc<dyn Store>,
        agent: AgentId,
        from: u64,
    ) -> entourage_store::Result<Option<Claim>> {
        if self.holds.swap(false, Ordering::SeqCst) {
            self.may_land.add_permits(1);
            self.has_landed.acquire().await.unwrap().forget();
        }
        store.claim(agent, from).await
    }

    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> entourage_store::Result<Committed> {
        let spawns = |write: &Write| matches!(write, Write::NewAgent(agent) if agent.parent.is_some());
        if !commit.writes.iter().any(spawns) {
            return store.commit(commit).await;
        }
        self.holds.store(true, Ordering::SeqCst);
        self.has_come.add_permits(1);
        self.may_land.acquire().await.unwrap().forget();
        let committed = store.commit(commit).await;
        self.has_landed.add_permits(1);
        committed
    }
}

#[tokio::test]
async fn a_child_created_just_before_the_deletion_claims_its_parent_is_deleted() {
    let none = || Arc::new(Semaphore::new(0));
    let lands =
        LandsBeforeClaim { holds: Arc::default(), has_come: none(), may_land: none(), has_landed: none() };
    let spawns = Script::call("spawn_agent", json!({"kind": "researcher", "task": "Find it."}));
    let model = ScriptedModel::deciding(move |_| Some(Ok(spawns.clone())));
    let builder = World::builder(model).tools(first_tools()).store(MemoryStore::default()).dispatchers([]);
    let world = builder.between(lands.clone()).start().await;
    let root = world.ask("Find it.").await;
    let works = world.engine().clone();
    let working = tokio::spawn(async move { works.advance(root.id).await });
    lands.has_come.acquire().await.unwrap().forget();
    let elsewhere = world.client();
    elsewhere.intervene(root.id, Action::Delete, None).await.unwrap();
    let tree = world.client().tree(root.id).await.unwrap();
    let statuses: Vec<Status> = tree.iter().map(|agent| agent.status).collect();
    assert_eq!(statuses, [Status::Cancelled; 2], "the child has landed, and is deleted with its maker");
    working.await.unwrap().unwrap();
    assert_eq!(world.audit().await, []);
}
