//! Deaths at every commit: whatever the moment, the house goes on by itself and nothing is lost or
//! done twice.

use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Effects, Fault, Faults, TestTool, World};
use entourage_tests::{first_tools, one_kind, plain, well_formed};
use entourage_tools::{Effect, Toolbox};
use entourage_types::{Agent, Answer, QuestionStatus, Status};
use serde_json::json;

/// The tools of a story, and what it must leave behind.
struct Story {
    tools: fn(&Effects) -> Toolbox,
    kinds: fn() -> entourage_engine::Kinds,
    answer: fn(&Request) -> Script,
}

/// Three calls of tools of two classes, one of them with two calls side by side.
const TOOLS: Story = Story {
    tools: |effects| {
        Toolbox::new().with(TestTool::new("read", Effect::Pure, effects)).with(TestTool::new(
            "put",
            Effect::Idempotent,
            effects,
        ))
    },
    kinds: || one_kind(|_| {}),
    answer: |request| match request.messages.len() {
        1 => Script::call("read", json!({"n": 1})),
        3 => Script::call("put", json!({"n": 2})).and_call("read", json!({"n": 3})),
        6 => Script::text("All done."),
        n => Script::text(format!("unexpected length {n}")),
    },
};

/// An orchestrator delegates; the researcher notes something, asks the user and answers.
const DELEGATION: Story = Story {
    tools: |_| first_tools(),
    kinds: entourage_engine::Kinds::builtin,
    answer: |request| {
        let researcher = request.system.contains("You are the Researcher");
        match (researcher, request.messages.last()) {
            (false, Some(Message::User(_))) => {
                Script::call("send_message", json!({"recipient": "researcher", "message": "look"}))
            }
            (false, Some(Message::Output { text, .. })) => Script::text(format!("Found: {text}")),
            (true, Some(Message::User(_))) => {
                Script::call("create_note", json!({"title": "t", "content": "c"}))
                    .and_call("ask_user", json!({"question": "Which?"}))
            }
            (true, Some(Message::Output { text, .. })) => Script::text(format!("the {text} one")),
            (_, other) => Script::text(format!("unexpected {other:?}")),
        }
    },
};

/// Tells a story with these faults to its end, answering what is asked. Returns every transcript
/// of the tree, and how often each call had its effect.
async fn tell(story: &Story, workers: usize, faults: Faults) -> (Vec<Vec<String>>, Vec<u32>, u64) {
    let effects = Effects::default();
    let answer = story.answer;
    let model = ScriptedModel::deciding(move |request| Some(Ok(answer(request))));
    let mut world = World::builder(model)
        .tools((story.tools)(&effects))
        .kinds((story.kinds)())
        .workers(workers)
        .start_with(faults.clone())
        .await;
    let root = world.ask("Go.").await;
    let planned = faults.clone();
    let mut alive = false;
    loop {
        tokio::select! {
            biased;
            () = planned.died(), if !alive => {
                world = world.reborn(Faults::none()).await;
                alive = true;
            }
            () = answered_to_the_end(&world, &root) => break,
        }
    }
    let client = world.client();
    let mut transcripts = Vec::new();
    for agent in client.tree(root.id).await.unwrap() {
        let items = client.items(agent.id, 0, 1000).await.unwrap();
        well_formed(&items).unwrap_or_else(|why| panic!("{why}: {:?}", plain(&items)));
        assert_eq!(agent.status, Status::Succeeded, "{:?}", plain(&items));
        assert_eq!(client.runs(agent.id, Page::default()).await.unwrap().len(), 1);
        transcripts.push(plain(&items));
    }
    let notes = client.notes(Some(root.id), Page::default()).await.unwrap();
    assert!(notes.len() <= 1, "a note was kept twice");
    let events = client.events(root.id, 0, 10_000).await.unwrap();
    assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq), "events have a gap");
    let commits = faults.commits();
    (transcripts, effects.per_call(), commits)
}

/// Answers every question of the tree until its root has ended.
async fn answered_to_the_end(world: &World, root: &Agent) {
    let client = world.client();
    let mut watch = client.watch(root.id, 0).await.unwrap();
    loop {
        let open =
            client.questions(Some(root.id), Some(QuestionStatus::Open), Page::default()).await.unwrap();
        for question in open {
            // Answering twice is refused; a question that was answered meanwhile is fine.
            let _ = client.answer(question.id, Answer::Text("red".into())).await;
        }
        if client.agent(root.id).await.unwrap().status.is_terminal() {
            return;
        }
        watch.next().await.unwrap();
    }
}

async fn survives_everything(story: &Story) {
    let (expected, effects, commits) = tell(story, 1, Faults::none()).await;
    assert!(expected.iter().flatten().all(|line| !line.contains("unexpected")), "{expected:?}");
    assert!(effects.iter().all(|times| *times == 1));
    assert!(commits > 5);
    for workers in 1..=3 {
        for at in 1..=commits {
            for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
                let (told, _, _) = tell(story, workers, Faults::at(at, fault)).await;
                assert_eq!(told, expected, "{fault:?} at commit {at} with {workers} workers");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_story_of_tools_survives_a_death_at_every_commit() {
    survives_everything(&TOOLS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_story_of_delegation_and_a_question_survives_a_death_at_every_commit() {
    survives_everything(&DELEGATION).await;
}
