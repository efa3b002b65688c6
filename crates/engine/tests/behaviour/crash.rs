//! Deaths at every commit: at any moment, the engine continues by itself, nothing is lost or done
//! twice, and no invariant is violated.

use crate::kit::{Effects, TestTool, WorldBuilderExt, contexts, conversation, first_tools, one_kind, parsed};
use entourage_engine::{Kinds, NewAgent};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{Commit, EntityQuery, MemoryStore, Page, Write};
use entourage_testkit::{Fault, PersonAction, Story, World, quiet};
use entourage_tools::{Effect, Outcome, Toolbox};
use entourage_types::{
    About, Agent, Answer, ItemBody, Kind, Learning, LearningId, LearningStatus, Record, Scope, Section,
    Sessions, Status, Verdict,
};
use serde_json::{Value, json};

/// A model that answers by this function.
pub(crate) fn answers(model: impl Fn(&Request) -> Script + Send + Sync + 'static) -> ScriptedModel {
    ScriptedModel::deciding(move |request| Some(Ok(model(request))))
}

/// Calls of tools of every class, two of them concurrently; the person answers a question about an
/// interrupted call with its result.
fn tools() -> Story {
    let model = |request: &Request| match request.messages.len() {
        1 => Script::call("read", json!({"n": 1})),
        3 => Script::call("put", json!({"n": 2})).and_call("read", json!({"n": 3})),
        6 => Script::call("pay", json!({"n": 4})),
        8 => Script::text("All done."),
        n => Script::text(format!("unexpected length {n}")),
    };
    Story::new(["Go."], move |witness| {
        let effects = Effects::seen_by(witness);
        let tools = Toolbox::new()
            .with(TestTool::new("read", Effect::Pure, &effects))
            .with(TestTool::new("put", Effect::Idempotent, &effects))
            .with(TestTool::new("pay", Effect::Unsafe, &effects));
        World::builder(answers(model)).tools(tools).kinds(one_kind(|_| {}))
    })
    .person(|_| PersonAction::Answer(Answer::Text("pay: {\"n\":4}".into())))
}

fn is_researcher(request: &Request) -> bool {
    request.system.contains("You are the Researcher")
}

/// An orchestrator delegates; the researcher creates a note, makes a payment that needs approval,
/// asks the user and answers. The person answers a question about an interrupted payment with its
/// result.
fn delegation() -> Story {
    const RESEARCHER: &str = "---\nname: researcher\ntools: [create_note, pay, ask_user]\n\
        approval: [{ tools: pay }]\n---\nYou are the Researcher.";
    let model = |request: &Request| match (is_researcher(request), request.messages.last()) {
        (false, Some(Message::User(_))) => {
            Script::call("send_message", json!({"recipient": "researcher", "message": "look"}))
        }
        (false, Some(Message::Output { text, .. })) => Script::text(format!("Found: {text}")),
        (true, Some(Message::User(_))) => Script::call("create_note", json!({"title": "t", "content": "c"}))
            .and_call("pay", json!({"n": 7}))
            .and_call("ask_user", json!({"question": "Which?"})),
        (true, Some(Message::Output { text, .. })) => Script::text(format!("the {text} one")),
        (_, other) => Script::text(format!("unexpected {other:?}")),
    };
    Story::new(["Go."], move |witness| {
        let pay = TestTool::new("pay", Effect::Unsafe, &Effects::seen_by(witness));
        let kinds = quiet(Kinds::builtin()).with(parsed("researcher.md", RESEARCHER));
        World::builder(answers(model)).tools(first_tools().with(pay)).kinds(kinds)
    })
    .person(|question| {
        PersonAction::Answer(match question.about {
            About::Approval => Verdict::Approve.into(),
            About::Doubt => Answer::Text("pay: {\"n\":7}".into()),
            About::Information => Answer::Text("red".into()),
        })
    })
}

/// Two agents work in the background while their parent sleeps; one of them asks, and is deleted.
fn forks() -> Story {
    let spawn = |task: &str| json!({"kind": "researcher", "task": task});
    let model = move |request: &Request| {
        let called = |name: &str| {
            request.messages.iter().any(|m| matches!(m, Message::Output { tool, .. } if tool == name))
        };
        match (is_researcher(request), request.messages.first()) {
            (false, _) if called("wait") => Script::text("Both are in."),
            (false, _) if called("spawn_agent") => Script::call("wait", json!({"seconds": 60})),
            (false, _) => Script::call("spawn_agent", spawn("one")).and_call("spawn_agent", spawn("two")),
            (true, _) if called("create_note") => Script::text("noted"),
            (true, Some(Message::User(text))) if text.contains("one") => {
                Script::call("create_note", json!({"title": "t", "content": "c"}))
            }
            (true, _) => Script::call("ask_user", json!({"question": "Which?"})),
        }
    };
    Story::new(["Go."], move |_| World::builder(answers(model)).tools(first_tools()))
        .person(|_| PersonAction::Delete)
        .any_order()
}

/// Calls whose outputs fill the model's window again and again.
fn digests() -> Story {
    let model = |request: &Request| match request.messages.last() {
        Some(Message::User(text)) if text.starts_with("<conversation>") => Script::text("Some were fetched."),
        Some(Message::User(_)) => Script::call("bulk", json!({"n": 1})),
        Some(Message::Output { text, .. }) => match text[..1].parse::<u32>() {
            Ok(n) if n < 9 => Script::call("bulk", json!({"n": n + 1})),
            Ok(_) => Script::text("All done."),
            Err(_) => Script::text(format!("unexpected {text}")),
        },
        other => Script::text(format!("unexpected {other:?}")),
    };
    Story::new(["Go."], move |witness| {
        let bulk = TestTool::answering("bulk", Effect::Pure, &Effects::seen_by(witness), |_, arguments| {
            Ok(Outcome::text(format!("{} {}", arguments["n"], "x".repeat(3_000))))
        });
        let model = answers(model).with_window(4_096);
        World::builder(model).tools(Toolbox::new().with(bulk)).kinds(one_kind(|_| {}))
    })
}

/// What another agent writes down while a run waits is appended before its next call; between runs the person
/// writes again.
fn context() -> Story {
    let lead = |request: &Request| match conversation(request).last() {
        Some(Message::User(text)) if text == "Go." => {
            Script::call("send_message", json!({"recipient": "researcher", "message": "look"}))
        }
        Some(Message::User(_)) => Script::call("create_note", json!({"title": "u", "content": "own"})),
        Some(Message::Output { tool, .. }) if tool == "send_message" => {
            Script::text(format!("Found: {}", contexts(request).matches("<note ").count()))
        }
        Some(Message::Output { .. }) => Script::text("Noted."),
        other => Script::text(format!("unexpected {other:?}")),
    };
    let look = |request: &Request| match conversation(request).last() {
        Some(Message::User(_)) => Script::call("create_note", json!({"title": "t", "content": "c"})),
        _ => Script::text("looked"),
    };
    let model = move |request: &Request| if is_researcher(request) { look(request) } else { lead(request) };
    Story::new(["Go.", "More."], move |_| {
        let mut kinds = quiet(Kinds::builtin());
        for (name, instructions) in [("assistant", "Ask."), ("researcher", "You are the Researcher.")] {
            let mut kind = Kind { instructions: instructions.into(), ..Kind::bare(name) };
            kind.context.sections = vec![Section::Time, Section::Notes, Section::Learnings];
            kind.context.time_minutes = 1_000;
            kind.peers = if name == "assistant" { vec!["researcher".into()] } else { Vec::new() };
            kinds.add(kind);
        }
        World::builder(answers(model)).tools(first_tools()).kinds(kinds)
    })
}

/// An answer, and half an hour of silence.
fn idle_session() -> Story {
    let model = |request: &Request| match request.system.starts_with("You keep the records") {
        true => Script::text("Little was said."),
        false => Script::text("Gone."),
    };
    Story::new(["Go."], move |_| {
        World::builder(answers(model)).kinds(one_kind(|kind| kind.context.sessions = Sessions::Idle))
    })
}

/// Calls of an unsafe tool that wait for approval: concurrently one is approved and one rejected,
/// then one is changed, two expire, two are approved permanently. The person answers a question
/// about an interrupted call with its result, so that its effect happens at most once.
fn approvals() -> Story {
    const RULES: &str = "---\nname: assistant\napproval:\n  - { tools: pay, when: n <= 3 }\n  \
        - { tools: pay, when: n == 4, answer_seconds: 60 }\n  \
        - { tools: pay, when: n == 5, answer_seconds: 60, otherwise: approve }\n  \
        - { tools: pay, when: n >= 6 }\n---\nPay.";
    let pay = |n: u32| Script::call("pay", json!({"n": n}));
    let model = move |request: &Request| match request.messages.len() {
        1 => pay(1).and_call("pay", json!({"n": 3})).and_call("read", json!({"n": 9})),
        5 => pay(2),
        7 => pay(4),
        9 => pay(5),
        11 => pay(6).and_call("pay", json!({"n": 7})),
        14 => Script::text("All done."),
        n => Script::text(format!("unexpected length {n}")),
    };
    Story::new(["Go."], move |witness| {
        let effects = Effects::seen_by(witness);
        let read = TestTool::new("read", Effect::Pure, &effects);
        let tools = Toolbox::new().with(read).with(TestTool::new("pay", Effect::Unsafe, &effects));
        World::builder(answers(model)).tools(tools).kinds(Kinds::none().with(parsed("k.md", RULES)))
    })
    .person(|question| {
        let arguments = question.proposal.as_ref().map(|proposal| proposal.arguments.clone());
        let arguments = arguments.unwrap_or_default();
        PersonAction::Answer(match (question.about, arguments["n"].as_u64()) {
            (About::Approval, Some(1)) => Verdict::Approve.into(),
            (About::Approval, Some(2)) => {
                Answer::Approve { arguments: Some(json!({"n": 20})), always: false, digest: None }
            }
            (About::Approval, Some(3)) => Answer::Reject { reason: Some("too dear".into()) },
            (About::Approval, Some(6 | 7)) => Verdict::ApproveAlways.into(),
            (About::Approval, _) => return PersonAction::Wait,
            (About::Doubt, _) => Answer::Text(format!("pay: {arguments}")),
            (About::Information, _) => Answer::Text("unexpected".into()),
        })
    })
}

/// A chat: its orchestrator starts a researcher, which asks; the user answers in the chat, in plain
/// words, and after the result requests more from the same researcher.
fn chat() -> Story {
    let agent = |request: &Request| {
        let tail = contexts(request);
        let id = tail.split("<sub_agent id=\"").nth(1).and_then(|rest| rest.split('"').next());
        id.unwrap_or("nobody").to_owned()
    };
    let lead = move |request: &Request| match request.messages.last() {
        Some(Message::User(text)) if text == "Go." => {
            Script::call("spawn_agent", json!({"kind": "researcher", "task": "paint"}))
        }
        Some(Message::Notice(text)) if text.starts_with("<task_result") => Script::text("It is done."),
        Some(Message::User(text)) => {
            Script::call("reactivate_agent", json!({"agent": agent(request), "message": text}))
        }
        other => Script::text(format!("unexpected {other:?}")),
    };
    let work = |request: &Request| match request.messages.last() {
        Some(Message::User(text)) if text == "paint" => {
            Script::call("ask_user", json!({"question": "Which?"}))
        }
        Some(Message::User(_)) => Script::call("create_note", json!({"title": "t", "content": "c"})),
        Some(Message::Output { tool, text, .. }) if tool == "ask_user" => {
            Script::text(format!("painted {text}"))
        }
        Some(Message::Output { .. }) => Script::call("final_answer", json!({"answer": "noted"})),
        other => Script::text(format!("unexpected {other:?}")),
    };
    let model = move |request: &Request| if is_researcher(request) { work(request) } else { lead(request) };
    Story::new(["Go.", "More."], move |_| {
        let builtin = quiet(Kinds::builtin());
        let kinds = ["orchestrator", "researcher"].into_iter().filter_map(|name| builtin.get(name));
        let kinds = kinds.fold(Kinds::none(), |kinds, kind| kinds.with((*kind).clone()));
        World::builder(answers(model)).tools(first_tools()).kinds(kinds)
    })
    .person(|_| PersonAction::Say("red".into()))
}

/// Of how many crash points of a story one is tried as a rule.
pub(crate) const STRIDE: usize = 31;

/// Shows: S1-R056, S1-R077, S4-R042, INV-04.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_every_effect_class_survive_a_crash_at_every_commit() {
    println!("{}", tools().survives(1..=3, STRIDE).await);
}

/// Shows: S2-R059, S4-R042, INV-04.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delegation_with_question_and_approval_survives_a_crash_at_every_commit() {
    let outcome = delegation().run(1, &[]).await;
    assert!(outcome.transcripts[1].contains(&"output: pay: {\"n\":7}".to_owned()), "{outcome:#?}");
    println!("{}", delegation().survives(1..=3, STRIDE).await);
}

/// Shows: S1-R026.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_with_question_and_reactivation_survives_a_crash_at_every_commit() {
    let outcome = chat().run(1, &[]).await;
    let [chat_lines, researcher] = &outcome.transcripts[..] else { panic!("{outcome:#?}") };
    assert_eq!(chat_lines.iter().filter(|line| *line == "turn: It is done.[]").count(), 2, "{outcome:#?}");
    assert_eq!(researcher[2..5], ["output: red", "turn: painted red[]", "message: More."], "{outcome:#?}");
    println!("{}", chat().survives(1..=3, STRIDE).await);
}

/// Shows: INV-04.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn background_sub_agents_and_a_deletion_survive_a_crash_at_every_commit() {
    println!("{}", forks().survives(1..=3, STRIDE).await);
}

/// A context item is on record with the turn that read it, or neither is: the same is appended, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn context_items_survive_a_crash_at_every_commit() {
    let outcome = context().run(1, &[]).await;
    let lines = &outcome.transcripts[0];
    assert_eq!(lines[0], "context: 2026-01-01T00:00Z", "{outcome:#?}");
    let notes: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains("<note ")).collect();
    assert_eq!(notes, [4], "behind the output, before the next turn: {outcome:#?}");
    assert_eq!(lines[5], "turn: Found: 1[]", "{outcome:#?}");
    let points = context().survives([1], 1).await + context().survives(2..=3, STRIDE).await;
    assert!(points >= 100, "{points}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn digests_survive_a_crash_at_every_commit() {
    let outcome = digests().run(1, &[]).await;
    let digested = outcome.transcripts[0].iter().filter(|line| line.starts_with("digest")).count();
    assert!(digested > 1, "{outcome:#?}");
    println!("{}", digests().survives(1..=3, STRIDE).await);
}

/// Shows: S4-R061.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_closed_once_despite_a_crash_at_any_commit() {
    let outcome = idle_session().run(1, &[]).await;
    assert_eq!(outcome.transcripts, [["message: Go.", "turn: Gone.[]", "digest from 3: Little was said."]]);
    println!("{}", idle_session().survives(1..=3, 7).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approvals_and_grants_survive_a_crash_at_every_commit() {
    println!("{}", approvals().survives(1..=3, STRIDE).await);
}

#[tokio::test]
async fn create_note_stores_one_note_per_finished_call_despite_a_crash() {
    assert_stored_with_its_output("create_note", |text, _| json!({"title": text, "content": "c"})).await;
}

#[tokio::test]
async fn save_learning_stores_one_learning_per_finished_call_despite_a_crash() {
    assert_stored_with_its_output("save_learning", |text, _| json!({"text": text})).await;
}

#[tokio::test]
async fn update_learning_changes_one_learning_per_finished_call_despite_a_crash() {
    assert_stored_with_its_output("update_learning", |text, id| json!({"id": id, "text": text})).await;
}

#[tokio::test]
async fn retire_learning_retires_one_learning_per_finished_call_despite_a_crash() {
    assert_stored_with_its_output("retire_learning", |_, id| json!({"id": id})).await;
}

/// What a tool stores is committed with the output of its call, whatever dies at whatever commit.
/// Each call gets a text, and the short name of the learning that the agent saved about it before.
async fn assert_stored_with_its_output(tool: &str, arguments: fn(&str, &str) -> Value) {
    for (at, fault) in (1..).flat_map(|at| [(at, Fault::DieBefore), (at, Fault::DieAfter)]) {
        let model = ScriptedModel::new([]);
        let builder = World::builder(model.clone()).tools(first_tools()).kinds(one_kind(|_| {}));
        let world = builder.store(MemoryStore::default()).start_with(at, fault).await;
        let client = world.client();
        let root = client.create(NewAgent::default(), None).await.unwrap();
        let mut known = Commit::new(root.created);
        let [one, two, three] = ["one", "two", "three"].map(|text| {
            let learning = existing_learning(&root, text);
            known.writes.push(Write::record(&learning).unwrap());
            arguments(text, &learning.handle())
        });
        world.store().commit(known).await.unwrap();
        model.push(Ok(Script::call(tool, one).and_call(tool, two)));
        model.push(Ok(Script::call(tool, three)));
        model.push(Ok(Script::text("Kept.")));
        client.send(root.id, "Keep it.", None).await.unwrap();
        if let Some(ended) = world.faults().unless_dead(world.ended(root.id)).await {
            assert_eq!((ended.status, at > 3), (Status::Succeeded, true), "commits were tried");
            return;
        }
        let items = client.items(root.id, 0, 100).await.unwrap();
        let outputs = items.iter().filter(|item| matches!(item.body, ItemBody::Output(_))).count();
        let mut finished = outputs;
        for run in client.runs(root.id, Page::default()).await.unwrap() {
            // The recorded steps, without those that follow from items.
            let steps = world.store().steps(&Scope::All, run.id).await.unwrap();
            finished += steps.iter().filter(|step| step.output().is_some()).count();
        }
        let mut kept: Vec<String> = Vec::new();
        kept.extend(
            client.notes(Some(root.id), Page::default()).await.unwrap().into_iter().map(|note| note.title),
        );
        let learnings = EntityQuery { parent: Some(root.id.into()), ..EntityQuery::records::<Learning>() };
        for entity in world.store().entities(&Scope::All, learnings).await.unwrap() {
            let learning = Learning::from_entity(&entity).unwrap();
            match learning.text.strip_prefix(BEFORE) {
                Some(_) if learning.status == LearningStatus::Kept => {}
                text => kept.push(text.unwrap_or(&learning.text).to_owned()),
            }
        }
        kept.sort();
        // The calls of one turn end in any order.
        let expected: &[&[&str]] = match finished {
            0 => &[&[]],
            1 => &[&["one"], &["two"]],
            2 => &[&["one", "two"]],
            _ => &[&["one", "three", "two"]],
        };
        assert!(expected.iter().any(|texts| kept == *texts), "{fault:?} at commit {at}: {kept:?}");
    }
}

/// The beginning of a learning that existed before.
const BEFORE: &str = "before: ";

fn existing_learning(agent: &Agent, text: &str) -> Learning {
    Learning {
        id: LearningId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        text: format!("{BEFORE}{text}"),
        status: LearningStatus::Kept,
        created: agent.created,
        updated: agent.created,
    }
}
