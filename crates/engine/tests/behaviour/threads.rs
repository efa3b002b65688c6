//! Threads: one for (chat, recipient, sender); each message has an answer of its own, and no agent
//! waits for itself.

use crate::kit::{FakeClockExt, WorldExt, bare, first_tools};
use entourage_engine::{AcceptedMessage, ChatMessage, Error, Kinds};
use entourage_llm::{Error as ModelError, Message, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Story, World, plain};
use entourage_types::{
    AgentId, Author, EventBody, ItemBody, Kind, Limits, Run, RunOptions, Status, StopReason,
};
use serde_json::{Value, json};

use crate::crash::answers;

/// Kinds that may write to these peers; each has its name in its instructions.
fn chart(kinds: &[(&str, &[&str])]) -> Kinds {
    kinds.iter().fold(Kinds::none(), |all, (name, peers)| {
        all.with(Kind {
            instructions: format!("You are {name}."),
            tools: Some(vec!["send_message".into()]),
            peers: peers.iter().map(ToString::to_string).collect(),
            ..bare(*name)
        })
    })
}

fn is_kind(request: &Request, name: &str) -> bool {
    request.system.starts_with(&format!("You are {name}."))
}

fn last(request: &Request) -> &str {
    match request.messages.last() {
        Some(Message::User(text) | Message::Output { text, .. }) => text,
        _ => "",
    }
}

fn write(recipient: &str, message: &str) -> Script {
    Script::call("send_message", to(recipient, message))
}

fn to(recipient: &str, message: &str) -> Value {
    json!({"recipient": recipient, "message": message})
}

fn speech(to: &str, text: &str) -> ChatMessage {
    ChatMessage { chat: "c".into(), to: to.into(), text: text.into(), ..ChatMessage::default() }
}

/// Waits until the message has its answer.
async fn wait_for_answer(world: &World, spoken: &AcceptedMessage) -> Run {
    let client = world.client();
    let mut news = client.watch(spoken.root, None).await.unwrap();
    let ended = async {
        loop {
            if let Some(run) = client.run_of(spoken.agent, spoken.post).await.unwrap() {
                let run = client.run(run).await.unwrap();
                if run.status.is_terminal() {
                    return run;
                }
            }
            news.next().await.unwrap();
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), ended).await.expect("it is answered")
}

async fn say(world: &World, to: &str, text: &str) -> Run {
    let spoken = world.client().speak(speech(to, text), None).await.unwrap();
    wait_for_answer(world, &spoken).await
}

async fn lines(world: &World, agent: AgentId) -> Vec<String> {
    let items = world.client().items(agent, 0, 1000).await.unwrap();
    plain(&items)
}

/// The transcript of a thread in the chat.
async fn thread(world: &World, to: &str, from: Option<&str>) -> Vec<String> {
    let agent = world.client().thread("c", to, from).await.unwrap();
    lines(world, agent.unwrap_or_else(|| panic!("no thread {to}<{from:?}")).id).await
}

fn world_of(model: &ScriptedModel, kinds: Kinds) -> entourage_testkit::WorldBuilder {
    World::builder(model.clone()).tools(first_tools()).kinds(kinds)
}

/// A writes twice to B in one turn.
fn model_that_writes_twice() -> (ScriptedModel, Kinds) {
    let model = ScriptedModel::deciding(|request| Some(Ok(write_twice(request))));
    (model, chart(&[("a", &["b"]), ("b", &[])]))
}

fn write_twice(request: &Request) -> Script {
    match (is_kind(request, "b"), last(request)) {
        (true, text) => Script::text(format!("did {text}")),
        (false, "did two") => Script::text("Both."),
        (false, _) => write("b", "one").and_call("send_message", to("b", "two")),
    }
}

#[tokio::test]
async fn two_messages_to_one_peer_in_a_turn_get_separate_answers() {
    let (model, kinds) = model_that_writes_twice();
    let world = world_of(&model, kinds).start().await;
    say(&world, "a", "Go.").await;
    let lines = thread(&world, "a", None).await;
    assert_eq!(lines[2..], ["output: did one", "output: did two", "turn: Both.[]"]);
    let peer = world.client().thread("c", "b", Some("a")).await.unwrap().unwrap();
    assert_eq!(
        self::lines(&world, peer.id).await,
        ["message: one", "turn: did one[]", "message: two", "turn: did two[]"]
    );
    let runs = world.client().runs(peer.id, Page::default()).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.tasks.len()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(world.audit().await, []);
}

/// The same in a story, with a cycle below: a message caused by the second one returns to its
/// sender.
fn cycle() -> Story {
    let model = |request: &Request| {
        let name = ["assistant", "b"].into_iter().find(|name| is_kind(request, name)).unwrap_or_default();
        match (name, last(request)) {
            ("assistant", "Go.") => write("b", "one").and_call("send_message", to("b", "back")),
            ("assistant", "from b") => write("b", "again"),
            ("b", "back") => write("assistant", "from b"),
            (_, text) => Script::text(format!("<{text}>")),
        }
    };
    Story::new(["Go."], move |_| {
        let kinds = chart(&[("assistant", &["b"]), ("b", &["assistant"])]);
        World::builder(answers(model)).tools(first_tools()).kinds(kinds)
    })
}

/// Shows: S2-R089.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_to_one_peer_and_a_cycle_survive_a_crash_at_every_commit() {
    let outcome = cycle().run(1, &[]).await;
    let refused = "<`b` waits for an answer from this conversation and cannot answer you first; answer with \
                   what you have>";
    let inner = &outcome.transcripts[2];
    assert_eq!(inner[0], "message: from b", "{outcome:#?}");
    assert_eq!(inner[3], format!("turn: {refused}[]").replacen('<', "<Error: ", 1), "{outcome:#?}");
    println!("{}", cycle().survives(1..=2, 7).await);
}

/// Shows: S2-R089.
#[tokio::test]
async fn a_message_that_closes_a_cycle_is_refused_and_leaves_no_open_call() {
    let model = ScriptedModel::deciding(|request: &Request| {
        let next = if is_kind(request, "a") { "b" } else { "a" };
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) => write(next, "deeper"),
            _ => Script::text(last(request)),
        }))
    });
    let world = world_of(&model, chart(&[("a", &["b"]), ("b", &["a"])])).start().await;
    let run = say(&world, "a", "Go.").await;
    assert_eq!(run.status, Status::Succeeded);
    // user to a, a to b, b to a; and then b waits for that same a.
    let inner = thread(&world, "a", Some("b")).await;
    assert!(inner[2].starts_with("output!: `b` waits for an answer from this conversation"), "{inner:?}");
    assert_eq!(world.client().tree(world.client().chat("c").await.unwrap()).await.unwrap().len(), 3);
    for request in model.requests() {
        let calls = request
            .messages
            .iter()
            .filter(|m| matches!(m, Message::Assistant { calls, .. } if !calls.is_empty()));
        let outputs = request.messages.iter().filter(|m| matches!(m, Message::Output { .. }));
        assert_eq!(calls.count(), outputs.count(), "{:?}", request.messages);
    }
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_wait_cycle_through_other_threads_is_refused() {
    let model = ScriptedModel::deciding(|request: &Request| {
        let name = ["a", "b", "c", "d"].into_iter().find(|name| is_kind(request, name)).unwrap();
        Some(Ok(match (name, last(request)) {
            ("a", "Go.") => write("b", "first").and_call("send_message", to("d", "second")),
            ("b", "first") => write("c", "slowly"),
            ("c", "slowly") => Script::call("wait", json!({"seconds": 60})),
            ("c", "The time has passed.") => write("d", "third"),
            ("d", "second") => write("b", "fourth"),
            ("b", "fourth") => write("c", "behind slowly"),
            ("d", "third") => write("b", "fifth"),
            (_, text) => Script::text(format!("{name} {text}")),
        }))
    });
    let mut kinds = Kinds::none();
    for kind in chart(&[("a", &["b", "d"]), ("b", &["c"]), ("c", &["d"]), ("d", &["b"])]).iter() {
        kinds.add(Kind { tools: None, version: String::new(), ..(**kind).clone() });
    }
    let world = world_of(&model, kinds).start().await;
    let spoken = world.client().speak(speech("a", "Go."), None).await.unwrap();
    world
        .until(
            spoken.root,
            |event| matches!(&event.body, EventBody::Task { task } if task.instruction == "behind slowly"),
        )
        .await;
    let slow = world.client().thread("c", "c", Some("b")).await.unwrap().unwrap();
    world.asleep(&slow).await;
    world.clock().advance(std::time::Duration::from_secs(61));
    assert_eq!(wait_for_answer(&world, &spoken).await.status, Status::Succeeded);
    let refused = thread(&world, "d", Some("c")).await;
    assert!(refused[2].starts_with("output!: `b` waits for an answer"), "{refused:?}");
    assert_eq!(world.audit().await, []);
}

/// Shows: S2-R011, S2-R015, S2-R016, S2-R083, S2-R084, S2-R087.
#[tokio::test]
async fn threads_are_separate_per_chat_recipient_and_sender_and_keep_history() {
    let model = ScriptedModel::deciding(|request: &Request| {
        Some(Ok(match (is_kind(request, "b"), request.messages.last()) {
            (false, Some(Message::User(text))) => write("b", &format!("{text} please")),
            (_, _) => Script::text(format!("{} messages", request.messages.len())),
        }))
    });
    let world = world_of(&model, chart(&[("a", &["b"]), ("b", &[])])).start().await;
    say(&world, "a", "one").await;
    say(&world, "a", "secret two").await;
    let peer = thread(&world, "b", Some("a")).await;
    assert_eq!(
        peer,
        ["message: one please", "turn: 1 messages[]", "message: secret two please", "turn: 3 messages[]"]
    );

    let other = ChatMessage { chat: "another".into(), ..speech("a", "three") };
    let spoken = world.client().speak(other, None).await.unwrap();
    wait_for_answer(&world, &spoken).await;
    assert_ne!(spoken.root, world.client().chat("c").await.unwrap());
    let tree = world.client().tree(spoken.root).await.unwrap();
    assert_eq!(lines(&world, tree[1].id).await, ["message: three please", "turn: 1 messages[]"]);
    // The person may use another name, and then has another thread.
    let named = ChatMessage { from: Some("Bob".into()), ..speech("b", "four") };
    let spoken = world.client().speak(named, None).await.unwrap();
    wait_for_answer(&world, &spoken).await;
    assert_eq!(thread(&world, "b", Some("Bob")).await, ["message: four", "turn: 1 messages[]"]);
    assert_eq!(thread(&world, "b", Some("a")).await.len(), 4);
    assert_eq!(world.audit().await, []);
}

/// The messages between the user and A, A's instructions and what A keeps to itself are not for B.
/// Shows: S2-R088.
#[tokio::test]
async fn a_recipient_sees_the_message_and_nothing_else_of_the_senders_thread() {
    let model = ScriptedModel::deciding(|request: &Request| {
        Some(Ok(match (is_kind(request, "b"), request.messages.last()) {
            (true, _) => Script::text("fine"),
            (false, Some(Message::User(text))) if text.contains("1234") => {
                Script::text("I keep 1234 to myself.")
            }
            (false, Some(Message::User(_))) => {
                let note = json!({"title": "5678", "content": "a note of 5678"});
                Script::text("I ask b about 9012.").and_call("create_note", note)
            }
            (false, Some(Message::Output { tool, .. })) if tool == "create_note" => write("b", "hello b"),
            _ => Script::text("Done."),
        }))
    });
    let mut kinds = chart(&[("b", &[])]);
    kinds.add(Kind {
        instructions: "You are a. The rule is 3456.".into(),
        tools: Some(vec!["send_message".into(), "create_note".into()]),
        peers: vec!["b".into()],
        ..bare("a")
    });
    let world = world_of(&model, kinds).start().await;
    say(&world, "a", "my number is 1234").await;
    say(&world, "a", "ask b, and tell it nothing of 7890").await;
    let to_b: Vec<Request> = model.requests().into_iter().filter(|request| is_kind(request, "b")).collect();
    let [request] = &to_b[..] else { panic!("{to_b:?}") };
    assert_eq!(request.messages, [Message::User("hello b".into())]);
    assert!(request.system.starts_with("You are b."), "{}", request.system);
    let all = format!("{request:?}");
    for secret in ["1234", "3456", "5678", "7890", "9012"] {
        assert!(!all.contains(secret), "{secret} in {all}");
    }
    // All of it was available to be leaked.
    let to_a = format!("{:?}", model.requests().iter().rfind(|request| is_kind(request, "a")));
    assert!(["1234", "3456", "5678", "7890", "9012"].iter().all(|secret| to_a.contains(secret)), "{to_a}");
}

#[tokio::test]
async fn two_entry_points_of_a_chat_share_its_threads() {
    let model = ScriptedModel::deciding(|request: &Request| {
        let name = ["ceo", "dev", "reviewer"].into_iter().find(|name| is_kind(request, name)).unwrap();
        Some(Ok(match (name, request.messages.last()) {
            ("ceo", Some(Message::User(text))) => write("dev", text),
            ("dev", Some(Message::User(text))) => write("reviewer", text),
            _ => Script::text(format!("{} so far", request.messages.len())),
        }))
    });
    let kinds = chart(&[("ceo", &["dev"]), ("dev", &["reviewer"]), ("reviewer", &[])]);
    let world = world_of(&model, kinds).start().await;
    say(&world, "ceo", "by way of the ceo").await;
    say(&world, "dev", "at once").await;
    let reviewer = thread(&world, "reviewer", Some("dev")).await;
    let expected = ["message: by way of the ceo", "turn: 1 so far[]", "message: at once", "turn: 3 so far[]"];
    assert_eq!(reviewer, expected);
    assert_ne!(thread(&world, "dev", None).await, thread(&world, "dev", Some("ceo")).await);
    assert_eq!(world.audit().await, []);
}

/// Shows: S2-R038, S2-R040.
#[tokio::test]
async fn delegation_depth_follows_the_senders_max_depth_or_five_levels() {
    let names = ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"];
    let peers: Vec<Vec<&str>> = names.iter().skip(1).map(|next| vec![*next]).chain([vec![]]).collect();
    let kinds: Vec<(&str, &[&str])> =
        names.iter().zip(&peers).map(|(name, peers)| (*name, peers.as_slice())).collect();
    let model = ScriptedModel::deciding(move |request: &Request| {
        let at = names.iter().position(|name| is_kind(request, name)).unwrap();
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) => write(names[at + 1], "deeper"),
            _ => Script::text(last(request)),
        }))
    });
    let mut world = world_of(&model, chart(&kinds)).start().await;
    for (max_depth, reached) in [(Some(2), 2), (None, 5), (Some(1), 1)] {
        let options = RunOptions { max_depth, ..RunOptions::default() };
        let chat = format!("to {reached}");
        let spoken =
            world.client().speak(ChatMessage { chat, options, ..speech("k0", "Go.") }, None).await.unwrap();
        // The options are stored: another process applies them too.
        world = world.restart(entourage_testkit::Faults::default()).await;
        let run = wait_for_answer(&world, &spoken).await;
        assert_eq!(run.status, Status::Succeeded);
        let tree = world.client().tree(spoken.root).await.unwrap();
        assert_eq!(tree.len(), reached + 1, "the last one reached makes no call of its own");
        // No agent below it was asked anything: its call is answered by an error, and it continues.
        let runs = world.client().tree_runs(spoken.root).await.unwrap();
        assert_eq!(runs.len(), reached + 1);
        let last = lines(&world, tree[reached].id).await;
        let refusal = format!("output!: you are at the maximum depth of {reached}");
        assert!(last.len() == 4 && last[2].starts_with(&refusal), "{last:#?}");
        assert!(last[3].starts_with("turn: Error: you are at"), "{last:#?}");
        let said = world.client().transcript(spoken.agent).await.unwrap().pop().unwrap();
        assert!(said.text.contains(&format!("maximum depth of {reached}")), "{}", said.text);
    }
}

#[tokio::test]
async fn the_senders_max_steps_limits_only_the_run_that_answers() {
    let model = ScriptedModel::deciding(|request: &Request| {
        Some(Ok(write("b", &format!("message {}", request.messages.len()))))
    });
    let world = world_of(&model, chart(&[("a", &["b"]), ("b", &[])])).start().await;
    let options = RunOptions { max_steps: Some(2), ..RunOptions::default() };
    let spoken = world.client().speak(ChatMessage { options, ..speech("a", "Go.") }, None).await.unwrap();
    let run = wait_for_answer(&world, &spoken).await;
    assert_eq!((run.model_calls, run.stop_reason), (2, Some(StopReason::MaxSteps)));
    let peer = world.client().thread("c", "b", Some("a")).await.unwrap().unwrap();
    let below = world.client().runs(peer.id, Page::default()).await.unwrap();
    assert!(below[0].model_calls > 2, "the speaker's word is for the run that answers, {below:?}");
}

/// Shows: S2-R033, S2-R034, S2-R035, S2-R045, S2-R046, S2-R048, S2-R049.
#[tokio::test]
async fn an_invalid_send_message_is_an_error_output_and_reaches_no_peer() {
    let wrong = [
        to("b", "hello"),
        to("a", "hello"),
        to("nobody", "hello"),
        json!({"recipient": "c"}),
        json!({"message": "to whom?"}),
        json!("{broken"),
        to("c", "   "),
    ];
    let turn = wrong
        .iter()
        .fold(Script::text("I try."), |turn, arguments| turn.and_call("send_message", arguments.clone()));
    let own = ScriptedModel::new([turn, Script::text("Well.")]);
    let script = own.clone();
    let model = ScriptedModel::deciding(move |request: &Request| {
        assert!(is_kind(request, "a"), "nobody else is asked: {request:?}");
        script.next_answer()
    });
    let kinds = chart(&[("a", &["c", "d"]), ("b", &["a"]), ("c", &[]), ("d", &[])]);
    let world = world_of(&model, kinds).start().await;
    let run = say(&world, "a", "Go.").await;
    assert_eq!(run.status, Status::Succeeded);
    let lines = thread(&world, "a", None).await;
    assert_eq!(lines.len(), 2 + wrong.len() + 1, "{lines:#?}");
    assert!(lines[2..9].iter().all(|line| line.starts_with("output!: ")), "{lines:#?}");
    let offered = &model.requests()[0].tools[0].parameters["properties"]["recipient"]["enum"];
    assert_eq!(*offered, json!(["c", "d"]), "a may write to these, though b may write to a");
}

/// Shows: S2-R018.
#[tokio::test]
async fn an_empty_or_invalid_message_is_refused_and_creates_no_agent() {
    let world = world_of(&ScriptedModel::new([]), chart(&[("a", &[])])).start().await;
    let client = world.client();
    let refused = [
        speech("a", ""),
        speech("a", " \n\t "),
        speech("a", &"x".repeat((1 << 20) + 1)),
        ChatMessage { chat: " ".into(), ..speech("a", "hi") },
        ChatMessage { from: Some("a<b".into()), ..speech("a", "hi") },
        speech("nobody", "hi"),
    ];
    for speech in refused {
        let refused = client.speak(speech, None).await;
        assert!(matches!(refused, Err(Error::Invalid(_) | Error::UnknownKind { .. })), "{refused:?}");
    }
    assert_eq!(client.agents(None, Page::default()).await.unwrap(), []);
}

#[tokio::test]
async fn a_repeated_key_returns_the_same_message() {
    let model = ScriptedModel::new([Script::text("Hello.")]);
    let world = world_of(&model, chart(&[("a", &[])])).start().await;
    let first = world.client().speak(speech("a", "hi"), Some("k")).await.unwrap();
    wait_for_answer(&world, &first).await;
    let again = world.client().speak(speech("a", "hi"), Some("k")).await.unwrap();
    assert_eq!(again, AcceptedMessage { again: true, ..first });
    let other = world.client().speak(speech("a", "ho"), Some("k")).await;
    assert!(matches!(other, Err(Error::KeyReused)), "{other:?}");
    assert_eq!(thread(&world, "a", None).await, ["message: hi", "turn: Hello.[]"]);
}

#[tokio::test]
async fn messages_to_a_busy_thread_are_answered_one_after_another() {
    let world = world_of(
        &ScriptedModel::deciding(|request: &Request| Some(Ok(Script::text(format!("to {}", last(request)))))),
        chart(&[("a", &[])]),
    )
    .start()
    .await;
    let client = world.client();
    let mut spoken = Vec::new();
    for text in ["one", "two", "three"] {
        spoken.push(client.speak(speech("a", text), None).await.unwrap());
    }
    let mut runs = Vec::new();
    for one in &spoken {
        runs.push(wait_for_answer(&world, one).await.id);
    }
    runs.dedup();
    assert_eq!(runs.len(), 3);
    let expected = [
        "message: one",
        "turn: to one[]",
        "message: two",
        "turn: to two[]",
        "message: three",
        "turn: to three[]",
    ];
    assert_eq!(thread(&world, "a", None).await, expected);
}

/// Shows: S2-R066.
#[tokio::test]
async fn an_empty_answer_is_retried_and_then_fails_the_run() {
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("  "))));
    let mut kind = Kind { instructions: "You are a.".into(), ..bare("a") };
    kind.limits = Limits { max_attempts: 2, ..Limits::default() };
    let world = world_of(&model, Kinds::none().with(kind)).start().await;
    let spoken = world.client().speak(speech("a", "hi"), None).await.unwrap();
    world.clock().advance_to_sleeper(std::time::Duration::from_secs(12)).await;
    let run = wait_for_answer(&world, &spoken).await;
    assert_eq!((run.status, run.stop_reason), (Status::Failed, Some(StopReason::EmptyResponse)));
    assert_eq!(model.requests().len(), 2, "it was asked again before");
    assert_eq!(run.usage.input, 20, "what says nothing was paid for");
}

/// Shows: S2-R016, S2-R050.
#[tokio::test]
async fn a_failed_peer_is_an_error_output_and_runs_below_lists_its_run() {
    let model = ScriptedModel::deciding(|request: &Request| {
        Some(match (is_kind(request, "b"), request.messages.last()) {
            (true, Some(Message::User(text))) if text == "fail" => {
                Err(ModelError::Refused { model: "m".into(), cause: "no credit".into() })
            }
            (true, _) => Ok(Script::text("fine")),
            (false, Some(Message::User(_))) => {
                Ok(write("b", "work").and_call("send_message", to("b", "fail")))
            }
            _ => Ok(Script::text("Half of it.")),
        })
    });
    let world = world_of(&model, chart(&[("a", &["b"]), ("b", &[])])).start().await;
    let run = say(&world, "a", "Go.").await;
    let lines = thread(&world, "a", None).await;
    assert_eq!(
        lines[2..4],
        [
            "output: fine",
            "output!: the service behind the model refused the request; the operator finds the cause in the log"
        ]
    );
    let items = world.client().items_of(&run).await.unwrap();
    let below = world.client().runs_below(&run, &items).await.unwrap();
    let statuses: Vec<_> = below.iter().map(|below| below.run.status).collect();
    assert_eq!(statuses, [Status::Succeeded, Status::Failed]);
    let spent: u64 = below.iter().map(|below| &below.run).chain([&run]).map(|run| run.usage.input).sum();
    let all: u64 = world
        .client()
        .tree_runs(root_of_chat(&world).await)
        .await
        .unwrap()
        .iter()
        .map(|run| run.usage.input)
        .sum();
    assert_eq!((spent, all), (30, 30));
    assert!(matches!(&below[0].items[0].body, ItemBody::Message(message)
        if matches!(&message.from, Author::Agent { kind, .. } if kind == "a")));
}

async fn root_of_chat(world: &World) -> AgentId {
    world.client().chat("c").await.unwrap()
}
