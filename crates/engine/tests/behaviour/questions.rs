//! Only a person can answer: from any depth, for as long as it takes, once.

use crate::kit::{WorldExt, first_tools};
use entourage_engine::{Error, Role};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Faults, World, plain};
use entourage_types::{Answer, QuestionStatus, Status, WaitingOn};
use serde_json::json;

fn asks() -> ScriptedModel {
    ScriptedModel::new([
        Script::call("ask_user", json!({"question": "Which colour?", "options": ["red", "blue"]})),
        Script::text("Painted."),
    ])
}

#[tokio::test]
async fn a_question_waits_and_its_answer_is_the_calls_output() {
    let model = asks();
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Paint it.").await;
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    assert_eq!((question.text.as_str(), question.options.len()), ("Which colour?", 2));
    let sleeping = world.client().agent(root.id).await.unwrap();
    assert_eq!((sleeping.status, sleeping.waiting_on), (Status::Waiting, Some(WaitingOn::User)));
    let due = world.store().due(entourage_types::Time::from_micros(i64::MAX), None, 10).await.unwrap();
    assert_eq!(due, [], "nothing is scheduled while a person thinks");

    let answered = world.client().answer(question.id, Answer::Text("red".into())).await.unwrap();
    assert_eq!(answered.status, QuestionStatus::Answered);
    world.ended(root.id).await;
    let items = world.client().items(root.id, 0, 10).await.unwrap();
    assert_eq!(plain(&items)[2], "output: red");
    let again = world.client().answer(question.id, Answer::Text("blue".into())).await;
    assert!(matches!(again, Err(Error::NotOpen { status: QuestionStatus::Answered, .. })), "{again:?}");
}

#[tokio::test]
async fn a_declined_question_lets_the_run_continue() {
    let model = asks();
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Paint it.").await;
    let question = world.question(root.id).await;
    world.client().answer(question.id, Answer::Declined).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let items = world.client().items(root.id, 0, 10).await.unwrap();
    assert!(plain(&items)[2].contains("declined"), "{:?}", plain(&items));
}

/// Shows: S1-R045, S1-R066.
#[tokio::test]
async fn a_sub_agents_question_reaches_the_roots_user_and_survives_a_restart() {
    let orchestrator = ScriptedModel::new([
        Script::call("send_message", json!({"recipient": "researcher", "message": "Find the colour."})),
        Script::text("It is red."),
    ]);
    let own = orchestrator.clone();
    let model = ScriptedModel::deciding(move |request: &Request| {
        if !request.system.contains("You are the Researcher") {
            return own.next_answer();
        }
        Some(Ok(match request.messages.last() {
            Some(Message::Output { text, .. }) => Script::text(format!("the user says {text}")),
            _ => Script::call("ask_user", json!({"question": "Which colour?"})),
        }))
    });
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Which colour is it?").await;
    let question = world.question(root.id).await;
    let client = world.client();
    let child = client.agent(question.agent).await.unwrap();
    assert_eq!((child.parent, question.root), (Some(root.id), root.id));
    let task = client.task(question.task.expect("the asking agent works on a task")).await.unwrap();
    assert_eq!((task.to, task.from), (child.id, root.id));
    world.asleep(&child).await;
    world.asleep(&root).await;

    let entries = client.transcript(root.id).await.unwrap();
    let asked = entries.iter().find(|entry| entry.role == Role::Question).expect("the user is asked");
    assert_eq!(asked.text, "The Researcher needs more information: Which colour?");
    assert_eq!((asked.question, asked.task), (Some(question.id), question.task));

    let world = world.restart(Faults::default()).await;
    world.client().answer(question.id, Answer::Text("red".into())).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let items = world.client().items(root.id, 0, 10).await.unwrap();
    assert_eq!(plain(&items)[2], "output: the user says red");
}

/// Shows: S1-R066.
#[tokio::test]
async fn a_sub_agents_question_names_the_kind_that_asks() {
    let start = Script::call("spawn_agent", json!({"kind": "general", "task": "Paint it."}));
    let ask = Script::call("ask_user", json!({"question": "Which colour?"}));
    let model = ScriptedModel::deciding(move |request: &Request| {
        Some(Ok(if request.system.contains("You are the General") { ask.clone() } else { start.clone() }))
    });
    let world = World::scripted(&model, first_tools()).await;
    let chat = world.ask_kind(Some("orchestrator"), "Paint it.").await;
    world.question(chat.id).await;
    let entries = world.client().transcript(chat.id).await.unwrap();
    let asked = entries.iter().find(|entry| entry.role == Role::Question).expect("the user is asked");
    assert_eq!(asked.text, "The General needs more information: Which colour?");
}

#[tokio::test]
async fn only_one_of_two_simultaneous_answers_is_accepted() {
    let model = asks();
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Paint it.").await;
    let question = world.question(root.id).await;
    let client = world.client();
    let (one, two) = tokio::join!(
        client.answer(question.id, Answer::Text("red".into())),
        client.answer(question.id, Answer::Text("blue".into())),
    );
    assert_eq!(one.is_ok() as u8 + two.is_ok() as u8, 1, "{one:?} {two:?}");
    world.ended(root.id).await;
    let kept = client.question(question.id).await.unwrap();
    let items = client.items(root.id, 0, 10).await.unwrap();
    assert_eq!(plain(&items)[2], format!("output: {}", kept.answer_in_words().unwrap()));
}

#[tokio::test]
async fn another_owner_cannot_see_or_answer_a_question() {
    let model = asks();
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Paint it.").await;
    let question = world.question(root.id).await;
    let other = world.engine().client(entourage_types::Owner::new("other"));
    assert!(matches!(other.answer(question.id, Answer::Declined).await, Err(Error::NotFound { .. })));
    assert_eq!(other.questions(None, None, Page::default()).await.unwrap(), []);
}
