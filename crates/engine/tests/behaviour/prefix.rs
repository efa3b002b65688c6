//! The model's input only ever grows at its end: what it reads beside the conversation is appended to it, once
//! and again when it changes.

use std::time::Duration;

use crate::kit::{WorldExt, bare, contexts, eventually, first_tools, is_worker, one_kind};
use entourage_engine::{Clock, NewAgent};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{Commit, Write};
use entourage_testkit::World;
use entourage_types::{
    Action, Agent, AgentId, EventBody, Item, ItemBody, Kind, Note, NoteId, Owner, Section, Status, StepKey,
};
use serde_json::json;

pub(crate) const TURNS: usize = 20;

/// The bytes of a message: all that it adds to a request.
fn bytes(message: &Message) -> String {
    format!("{message:?}")
}

fn bytes_of(request: &Request) -> usize {
    let tools: usize = request.tools.iter().map(|tool| format!("{tool:?}").len()).sum();
    request.system.len() + tools + request.messages.iter().map(|message| bytes(message).len()).sum::<usize>()
}

/// Asserts that each request begins with the whole previous one.
fn assert_each_request_extends_the_previous(requests: &[Request]) {
    for pair in requests.windows(2) {
        let [before, after] = pair else { unreachable!() };
        assert_eq!(before.system, after.system);
        assert_eq!(before.tools, after.tools);
        assert_eq!(after.messages[..before.messages.len()], before.messages[..], "the past never changes");
    }
}

/// Asserts that at most 5 % of the bytes are beside the conversation.
fn assert_little_is_beside(requests: &[Request]) {
    let all: usize = requests.iter().map(bytes_of).sum();
    let beside: usize = requests.iter().map(|request| contexts(request).len()).sum();
    assert!(beside * 20 <= all, "{beside} of {all} bytes are beside the conversation");
}

/// What items add to a request, written down here once more.
pub(crate) fn added(items: &[Item]) -> Vec<Message> {
    let message = |item: &Item| match &item.body {
        ItemBody::Message(message) => Message::User(message.text.clone()),
        ItemBody::Turn(turn) => Message::Assistant { text: turn.text.clone(), calls: turn.calls.clone() },
        ItemBody::Output(output) => Message::Output {
            call: output.call.to_string(),
            tool: output.tool.clone(),
            text: output.text.clone(),
        },
        ItemBody::Context(context) => {
            let lines = |section: Section| -> Vec<&str> {
                let of = context.entries.iter().filter(|entry| entry.section == section);
                of.map(|entry| entry.text.as_str()).collect()
            };
            let mut sections = Vec::new();
            sections
                .extend(lines(Section::Time).first().map(|at| format!("<time_context>{at}</time_context>")));
            for (section, name) in [(Section::Notes, "notes_context"), (Section::Learnings, "learnings")] {
                let lines = lines(section);
                if !lines.is_empty() {
                    sections.push(format!("<{name}>\n{}\n</{name}>", lines.join("\n")));
                }
            }
            Message::Context(sections.join("\n"))
        }
        other => panic!("{other:?}"),
    };
    items.iter().map(message).collect()
}

fn note(agent: &Agent, title: &str) -> Note {
    Note {
        id: NoteId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: AgentId::new(),
        title: title.into(),
        content: "<b> & co".into(),
        created: agent.created,
    }
}

/// Writes a note of another agent of the tree.
pub(crate) async fn write_note(world: &World, root: &Agent, title: &str) {
    let commit = Commit::new(world.clock().now()).write(Write::record(&note(root, title)).unwrap());
    world.store().commit(commit).await.unwrap();
}

pub(crate) fn all_sections(kind: &mut Kind) {
    kind.context.sections = vec![Section::Time, Section::Notes, Section::Learnings];
}

/// Shows: S4-R006, S4-R137, S4-R138.
#[tokio::test]
async fn over_twenty_turns_a_request_keeps_every_byte_of_the_one_before_and_adds_what_was_appended() {
    let model = ScriptedModel::new([]);
    for n in 0..TURNS {
        let note = Script::call("create_note", json!({"title": format!("n{n}"), "content": "<b> & co"}));
        model.push(Ok(note.and_call("save_learning", json!({"text": format!("rule {n} </learnings>")}))));
        model.push(Ok(Script::text(format!("answer {n}: {}", "it is as it was. ".repeat(20)))));
    }
    let kinds = one_kind(all_sections);
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds).start().await;
    let question = |n: usize| format!("question {n}: {}", "how is it? ".repeat(10));
    let root = world.ask(&question(0)).await;
    for n in 1..=TURNS {
        let is_answer = |item: &Item| matches!(&item.body, ItemBody::Turn(turn) if turn.text.starts_with(&format!("answer {}:", n - 1)));
        world
            .until(
                root.id,
                |event| matches!(&event.body, EventBody::Item { item: Some(item), .. } if is_answer(item)),
            )
            .await;
        world.ended(root.id).await;
        world.clock().advance(Duration::from_secs(90));
        if n % 4 == 0 {
            write_note(&world, &root, &format!("another's {n}")).await;
        }
        if n < TURNS {
            world.client().send(root.id, &question(n), None).await.unwrap();
        }
    }
    let requests = model.requests();
    assert_eq!(requests.len(), 2 * TURNS);
    assert_each_request_extends_the_previous(&requests);
    let items = world.client().items(root.id, 0, 1_000).await.unwrap();
    let turns: Vec<usize> =
        (0..items.len()).filter(|at| matches!(items[*at].body, ItemBody::Turn(_))).collect();
    let mut sent = 0;
    for (request, turn) in requests.iter().zip(&turns) {
        let new = added(&items[sent..*turn]);
        let old = added(&items[..sent]);
        let expected: Vec<String> = old.iter().chain(&new).map(bytes).collect();
        assert_eq!(request.messages.iter().map(bytes).collect::<Vec<_>>(), expected, "to the byte");
        sent = *turn;
    }
    let last_words = |request: &Request| matches!(request.messages.last(), Some(Message::User(_)));
    assert!(requests.iter().step_by(2).all(last_words), "what a run reads last are the words of the user");
    let read = contexts(requests.last().unwrap());
    assert!(read.starts_with("<time_context>2026-01-01T00:00Z</time_context>"), "{read}");
    // Every ninety seconds something is said; every ten minutes the time is appended.
    assert_eq!(read.matches("<time_context>").count(), 3, "{read}");
    assert_eq!(read.matches("another's ").count(), 4, "each once: {read}");
    assert!(read.contains("<note title=\"another's 4\">&lt;b&gt; &amp; co</note>"), "{read}");
    assert!(!read.contains("rule") && !read.contains("n1"), "its own calls say what it wrote: {read}");
    assert_little_is_beside(&requests);
}

/// The texts of a conversation as people and models write them.
pub(crate) fn paragraph(words: &str) -> String {
    format!("{words} {}", "And this is why, with all that belongs to it. ".repeat(25))
}

/// What a person has just asked, up to the colon; nothing if the model reads an output.
pub(crate) fn question(request: &Request) -> &str {
    match request.messages.last() {
        Some(Message::User(text)) => text.split(':').next().unwrap_or_default(),
        _ => "",
    }
}

/// A leader that learns something, thinks better of it and drops it, and starts two workers on the way.
fn learning_leader() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        let learned = learned(request);
        Some(Ok(match question(request) {
            _ if is_worker(request) => Script::text("It is found."),
            "question 2" => Script::call("save_learning", json!({"text": "They like tea."})),
            "question 8" => {
                Script::call("update_learning", json!({"id": learned, "text": "They like coffee."}))
            }
            "question 14" => Script::call("retire_learning", json!({"id": learned})),
            "question 5" | "question 11" => Script::call(
                "spawn_agent",
                json!({"kind": "worker", "task": format!("for {}", question(request))}),
            ),
            _ => Script::text(paragraph("It is as it was.")),
        }))
    })
}

/// The short name of the learning that a call has saved, as its output says it.
pub(crate) fn learned(request: &Request) -> Option<String> {
    let is_hex = |word: &&str| word.len() == 6 && word.chars().all(|char| char.is_ascii_hexdigit());
    request.messages.iter().find_map(|message| match message {
        Message::Output { tool, text, .. } if tool == "save_learning" => {
            text.split(|char: char| !char.is_alphanumeric()).find(is_hex).map(str::to_owned)
        }
        _ => None,
    })
}

/// A learning is told again when it has another text and when it is dropped, and a sub-agent when it begins, has a
/// result and is gone: each once, at the end of what the model has read by then.
#[tokio::test]
async fn over_twenty_turns_a_learning_that_changes_and_sub_agents_that_come_and_go_are_appended() {
    let model = learning_leader();
    let worker = Kind { instructions: "You are a worker".into(), ..bare("worker") };
    let kinds = one_kind(|kind| {
        all_sections(kind);
        kind.context.sections.push(Section::SubAgents);
        kind.peers = vec!["worker".into()];
    });
    let builder = World::builder(model.clone()).tools(first_tools()).kinds(kinds.with(worker));
    let world = builder.dispatchers([]).start().await;
    let (engine, person) = (world.engine(), world.engine().client(Owner::local()));
    let root = person.create(NewAgent::default(), None).await.unwrap();
    let mut workers: Vec<AgentId> = Vec::new();
    for n in 0..TURNS {
        if [9, 16].contains(&n) {
            let gone = workers.pop().expect("it was started before");
            person.intervene(gone, Action::Delete, None).await.unwrap();
        }
        person.send(root.id, &paragraph(&format!("question {n}: how is it?")), None).await.unwrap();
        engine.advance(root.id).await.unwrap();
        let tree = world.client().tree(root.id).await.unwrap();
        let is_new = |agent: &&Agent| agent.parent == Some(root.id) && agent.status == Status::Idle;
        if let Some(new) = tree.iter().find(is_new) {
            workers.push(new.id);
            engine.advance(new.id).await.unwrap();
            engine.advance(root.id).await.unwrap();
        }
        world.clock().advance(Duration::from_secs(90));
    }
    let requests: Vec<Request> = model.requests().into_iter().filter(|request| !is_worker(request)).collect();
    // One for each question, one after each call, and one for each result.
    assert_eq!(requests.len(), TURNS + 5 + 2);
    assert_each_request_extends_the_previous(&requests);
    let read = contexts(requests.last().unwrap());
    let told = |line: &str| read.matches(line).count();
    assert_eq!(
        (told("tea"), told("They like coffee.</learning>"), told("status=\"retired\"")),
        (0, 1, 1),
        "{read}"
    );
    for status in ["running", "succeeded", "deleted"] {
        assert_eq!(told(&format!("status=\"{status}\"")), 2, "{status}: {read}");
    }
    assert_eq!(told("<result>It is found.</result>"), 2, "{read}");
    for item in world.client().items(root.id, 0, 1_000).await.unwrap() {
        if let (ItemBody::Turn(_), Some(StepKey::Model(number))) = (&item.body, &item.step) {
            let rebuilt = world.client().request(item.run, *number).await.unwrap();
            assert_eq!((rebuilt.doubt, rebuilt.before.and_then(|before| before.broken)), (None, None));
        }
    }
    assert_little_is_beside(&requests);
    assert_eq!(world.audit().await, []);
}

/// What changes while a run is at work is appended before the next call, behind what was said by then.
#[tokio::test]
async fn a_change_between_two_calls_is_appended_once_before_the_next_call() {
    let model = ScriptedModel::new([
        Script::call("wait", json!({"seconds": 60})),
        Script::call("wait", json!({"seconds": 60})),
        Script::text("Done."),
    ]);
    let kinds = one_kind(all_sections);
    let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds).start().await;
    let root = world.ask("Wait twice.").await;
    world.asleep(&root).await;
    write_note(&world, &root, "new").await;
    world.clock().advance(Duration::from_secs(60));
    world.asleep(&root).await;
    world.clock().advance(Duration::from_secs(60));
    world.ended(root.id).await;
    let requests = model.requests();
    assert_each_request_extends_the_previous(&requests);
    let read: Vec<usize> =
        requests.iter().map(|r| contexts(r).matches("<note title=\"new\">").count()).collect();
    assert_eq!(read, [0, 1, 1]);
    let last = &requests[1].messages[requests[0].messages.len()..];
    assert!(
        matches!(last, [Message::Assistant { .. }, Message::Output { .. }, Message::Context(_)]),
        "{last:?}"
    );
}

/// The times that a model has read, in the order of the conversation.
fn times(request: &Request) -> Vec<String> {
    let read = contexts(request);
    let each = read.split("<time_context>").skip(1);
    each.map(|rest| rest.split_once('<').map_or(rest, |(at, _)| at).to_owned()).collect()
}

/// A message comes every five minutes, for an hour; the time is appended with the first one after the interval of the
/// kind.
#[tokio::test]
async fn the_time_is_appended_again_once_the_minutes_have_passed_that_its_kind_names() {
    let every = |minutes: usize| -> Vec<String> {
        (0..60).step_by(minutes).map(|minute| format!("2026-01-01T00:{minute:02}Z")).collect()
    };
    for minutes in [30, 10, 5] {
        let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("Noted."))));
        let kinds = one_kind(|kind| {
            (kind.context.sections, kind.context.time_minutes) = (vec![Section::Time], minutes);
        });
        let world = World::builder(model.clone()).kinds(kinds).start().await;
        let root = world.client().create(NewAgent::default(), None).await.unwrap();
        for n in 0..12 {
            world.client().send(root.id, &format!("message {n}"), None).await.unwrap();
            world.ended(root.id).await;
            world.clock().advance(Duration::from_secs(5 * 60));
        }
        let requests = model.requests();
        assert_eq!(requests.len(), 12);
        assert_each_request_extends_the_previous(&requests);
        assert_eq!(times(&requests[11]), every(minutes as usize), "every {minutes} minutes");
    }
}

/// A digest removes contexts along with the turns that it replaces: they are appended again, before what remains.
#[tokio::test]
async fn what_a_digest_takes_away_is_told_again_in_front_of_what_remains() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            _ if request.system.starts_with("You keep the memory") => Script::text("It was long."),
            Some(Message::User(text)) => Script::text(format!("re {text}")),
            other => Script::text(format!("unexpected {other:?}")),
        }))
    });
    let kinds = one_kind(all_sections);
    let world = World::builder(model.clone().with_window(4_096)).kinds(kinds).start().await;
    let root = world.client().create(entourage_engine::NewAgent::default(), None).await.unwrap();
    write_note(&world, &root, "kept").await;
    for n in 0..6 {
        world.client().send(root.id, &format!("{n} {}", "x".repeat(2_000)), None).await.unwrap();
        world.ended(root.id).await;
    }
    let items = world.client().items(root.id, 0, 100).await.unwrap();
    let digests = items.iter().filter(|item| matches!(item.body, ItemBody::Digest(_))).count();
    assert!(digests > 0, "{items:?}");
    for request in model.requests().iter().filter(|request| request.system.starts_with("Do as asked.")) {
        assert_eq!(contexts(request).matches("title=\"kept\"").count(), 1, "{:?}", request.messages);
        assert_eq!(contexts(request).matches("<time_context>").count(), 1);
        assert!(matches!(request.messages.last(), Some(Message::User(_))));
        let is_first = |message: &Message| matches!(message, Message::Context(_));
        assert!(request.messages[..2].iter().any(is_first), "{:?}", request.messages);
    }
}

#[tokio::test]
async fn only_the_agent_that_saved_a_learning_knows_it() {
    let model = ScriptedModel::new([
        Script::call("save_learning", json!({"text": "The user likes tea."})),
        Script::text("Noted."),
        Script::text("Hello."),
        Script::text("They like something."),
        Script::text("Tea?"),
    ]);
    let world = World::builder(model.clone()).tools(first_tools()).kinds(one_kind(|_| {})).start().await;
    let knows = world.ask("I like tea.").await;
    world.ended(knows.id).await;
    let other = world.ask("hi").await;
    world.ended(other.id).await;
    world.client().close_session(knows.id).await.unwrap();
    world.client().send(knows.id, "What do I like?", None).await.unwrap();
    eventually("it is asked", async || model.requests().len(), |asked| *asked == 5).await;
    let read: Vec<bool> = model.requests().iter().map(|request| contexts(request).contains("tea")).collect();
    assert_eq!(read, [false, false, false, false, true], "where no call of its own in this session says so");
    let client = world.client();
    let learned = client.learnings(knows.id).await.unwrap();
    assert_eq!(learned.iter().map(|known| known.text.as_str()).collect::<Vec<_>>(), ["The user likes tea."]);
    assert!(world.engine().client(entourage_types::Owner::new("other")).learnings(knows.id).await.is_err());
}
