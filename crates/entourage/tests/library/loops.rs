//! Tests of an agent's loop, of what its thread has by when, and of how `send_message` differs from tools.

use std::sync::{Arc, Mutex, OnceLock};

use entourage::{
    Page,
    agency::{Agency, RunItem, StreamEvent, ThreadManager, function_tool},
    schemars::{self, JsonSchema},
    types::{EventBody, Status, WaitingOn},
};
use entourage_engine::Signal;
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_testkit::{FakeClock, HeldModel};
use futures::StreamExt;
use serde::Deserialize;
use serde_json::json;

use crate::{agent, chain, hands_on, is, last, lines, scripted, within, write};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

async fn log(threads: &ThreadManager, to: &str, from: Option<&str>) -> Vec<String> {
    let thread = threads.get_thread("c", to, from).await.unwrap().expect("there is such a thread");
    lines(&thread.get_full_log().await.unwrap())
}

/// Opening an agency, reading everything, resuming and closing call no model and start no run.
/// Shows: S2-R001.
#[tokio::test]
async fn only_a_message_to_an_agent_starts_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let model = scripted(hands_on);
    let open = async || {
        let (builder, agents) = chain();
        let builder = builder.database(directory.path().join("agency.db")).model(Arc::clone(&model));
        (builder.open().await.unwrap(), agents)
    };
    let runs = async |agency: &Agency| {
        let mut runs = 0;
        for chat in agency.chats(Page::default()).await.unwrap() {
            let root = agency.client().chat(&chat.name).await.unwrap();
            runs += agency.client().tree_runs(root).await.unwrap().len();
        }
        runs
    };
    let (agency, agents) = open().await;
    assert!(
        agency.resume_response("c").await.is_err() && agency.threads().threads("c").await.unwrap().is_empty()
    );
    assert_eq!((model.requests().len(), runs(&agency).await), (0, 0));

    // One run of each agent of the chain, in five model calls.
    agency.get_response("Go.").chat_id("c").await.unwrap();
    assert_eq!((model.requests().len(), runs(&agency).await), (5, 3));
    for (to, from) in [("Ceo", None), ("Developer", Some("Ceo")), ("Reviewer", Some("Developer"))] {
        let thread = agency.threads().get_thread("c", to, from).await.unwrap().unwrap();
        thread.get_full_log().await.unwrap();
        thread.get_history_for_model().await.unwrap();
    }
    agency.resume_response("c").await.unwrap();
    agency.close().await;
    let (agency, _agents) = (open().await.0, agents);
    agency.resume_response("c").await.unwrap();

    // A run started in between would be counted here.
    let stream = agency.get_response_stream("More.").chat_id("c").await.unwrap();
    stream.result().await.unwrap();
    assert_eq!((model.requests().len(), runs(&agency).await), (10, 6));
}

/// A tool has a time limit, and its agent is at work meanwhile; an agent that wrote to another sleeps, and no
/// time limit of tools applies. No tool of one's own can take the place of `send_message`.
/// Shows: S2-R005.
#[tokio::test]
async fn send_message_has_no_tool_time_limit_and_a_reserved_name() {
    let clock = FakeClock::default();
    let b_model = Arc::new(HeldModel::new(ScriptedModel::new([Script::text("from B")])));
    let model = scripted(|request| match request.messages.last() {
        Some(Message::User(text)) if text == "hang" => Script::call("hang", json!({})),
        Some(Message::User(_)) => write("B", "hello"),
        _ => Script::text(last(request)),
    });
    let hang = function_tool("hang", "Never returns.", |_, _: Nothing| std::future::pending::<&str>());
    let a = crate::builder("A").tool(hang.pure()).can_message(["B"]);
    let a = a.configure(|kind| kind.limits.tool_seconds = 1).build().unwrap();
    let b = crate::builder("B").model(Arc::clone(&b_model)).build().unwrap();
    let builder = Agency::new([&a], []).agents([&b]).model(model).clock(Arc::new(clock.clone())).in_memory();
    let agency = builder.open().await.unwrap();

    let stream = agency.get_response_stream("Go.").chat_id("c").await.unwrap();
    b_model.begun().await;
    let root = agency.client().chat("c").await.unwrap();
    let mut news = agency.client().watch(root, 0).await.unwrap();
    let waits = within("A waits", async {
        loop {
            if let Signal::Event(event) = news.next().await.unwrap()
                && let EventBody::AgentStatus { status: Status::Waiting, waiting_on, .. } = &event.body
            {
                return *waiting_on;
            }
        }
    });
    assert_eq!(waits.await, Some(WaitingOn::Agent));
    clock.advance(std::time::Duration::from_secs(10));
    b_model.let_go(1);
    let result = stream.result().await.unwrap();
    assert_eq!(
        lines(&result.generated_items),
        ["A calls send_message hello", "A gets from B", "A says from B"]
    );
    assert_eq!(result.nested.len(), 1);

    // A tool of the same agent is cancelled after its second.
    let hung = tokio::spawn(agency.get_response("hang").chat_id("c").into_future());
    let second = std::time::Duration::from_secs(1);
    assert_eq!(clock.sleeper(second).await, second);
    clock.advance(second);
    let hung = lines(&hung.await.unwrap().unwrap().generated_items);
    assert!(hung[1].starts_with("A gets! ") && hung[1].contains("1 s"), "{hung:?}");

    let own = function_tool("send_message", "Sends otherwise.", |_, _: Nothing| async { "sent" });
    let refused = crate::builder("C").tool(own).build().unwrap_err().to_string();
    assert!(refused.contains("`send_message` is the name of a built-in tool"), "{refused}");
}

/// Reads the thread during each model call, and while a tool runs.
/// Shows: S2-R014, S2-R030.
#[tokio::test]
async fn items_are_saved_before_the_model_is_asked_and_before_a_call_runs() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let threads = Arc::new(OnceLock::<ThreadManager>::new());
    let (told, from) = (Arc::clone(&seen), Arc::clone(&threads));
    let look = function_tool("look", "Reads its own thread.", move |_, _: Nothing| {
        let (told, from) = (Arc::clone(&told), Arc::clone(&from));
        async move {
            let log = log(from.get().unwrap(), "A", None).await;
            told.lock().unwrap().push(log);
            "looked"
        }
    });
    let model = Arc::new(HeldModel::new(ScriptedModel::deciding(|request| {
        Some(Ok(match (is(request, "A"), request.messages.last()) {
            (true, Some(Message::User(_))) => Script::text("I look.").and_call("look", json!({})),
            (true, Some(Message::Output { text, .. })) if text == "looked" => write("B", "hello"),
            (true, _) => Script::text("Done."),
            (false, _) => Script::text("from B"),
        }))
    })));
    let a = crate::builder("A").instructions("You are A.").tool(look).can_message(["B"]).build().unwrap();
    let b = agent("B");
    let builder = Agency::new([&a], []).agents([&b]).model(Arc::clone(&model)).in_memory();
    let agency = builder.open().await.unwrap();
    assert!(threads.set(agency.threads()).is_ok());
    let stream = agency.get_response_stream("Go.").chat_id("c").await.unwrap();

    model.begun().await;
    let mut expected = vec!["A is told Go."];
    assert_eq!(log(&agency.threads(), "A", None).await, expected, "before the first model call");
    model.let_go(1);
    model.begun().await;
    expected.extend(["A says I look.", "A calls look "]);
    assert_eq!(*seen.lock().unwrap(), [expected.clone()], "before the tool did anything");
    model.let_go(1);
    model.begun().await;
    expected.extend(["A gets looked", "A calls send_message hello"]);
    assert_eq!(log(&agency.threads(), "A", None).await, expected, "before B's model is asked");
    assert_eq!(log(&agency.threads(), "B", Some("A")).await, ["B is told hello"]);
    model.let_go(10);
    stream.result().await.unwrap();
}

/// Each model call is held until the stream has delivered everything that was added to the threads before.
/// Shows: S2-R076.
#[tokio::test]
async fn a_stream_delivers_each_item_while_the_run_continues() {
    let model = Arc::new(HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(hands_on(request))))));
    let (builder, _agents) = chain();
    let agency = builder.model(Arc::clone(&model)).in_memory().open().await.unwrap();
    let mut stream = std::pin::pin!(agency.get_response_stream("Go.").chat_id("c").await.unwrap());
    let stages: [&[&str]; 6] = [
        &["Ceo is told Go."],
        &["Ceo calls send_message Go.", "Developer is told Go."],
        &["Developer calls send_message Go.", "Reviewer is told Go."],
        &["Reviewer says <Go.>", "Developer gets <Go.>"],
        &["Developer says <<Go.>>", "Ceo gets <<Go.>>"],
        &["Ceo says <<<Go.>>>"],
    ];
    for (calls, expected) in stages.into_iter().enumerate() {
        model.let_go(usize::from(calls > 0));
        let mut told: Vec<RunItem> = Vec::new();
        while told.len() < expected.len() {
            let next = tokio::time::timeout(std::time::Duration::from_secs(30), stream.next()).await;
            match next.unwrap_or_else(|_| panic!("{calls} calls are over, and only {:?} came", lines(&told)))
            {
                Some(Ok(StreamEvent::Item(item))) => told.push(item),
                Some(Ok(_)) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(lines(&told), expected, "after {calls} model calls");
    }
}

/// Shows: S2-R012.
#[tokio::test]
async fn a_message_without_a_sender_name_comes_from_the_user() {
    let a = agent("A");
    let model = scripted(|request| Script::text(format!("{} messages", request.messages.len())));
    let agency = Agency::new([&a], []).model(model).in_memory().open().await.unwrap();
    agency.get_response("one").chat_id("c").await.unwrap();
    let named = agency.get_response("two").chat_id("c").sender_name("Ann").await.unwrap();
    let unnamed = agency.get_response("three").chat_id("c").await.unwrap();
    let caller = |items: &[RunItem]| items[0].origin().caller.clone();
    assert_eq!(
        (caller(&named.generated_items), caller(&unnamed.generated_items)),
        ("Ann".into(), "user".into())
    );
    let threads = agency.threads();
    let all = threads.threads("c").await.unwrap().into_iter().map(|thread| thread.sender);
    assert_eq!(all.collect::<Vec<_>>(), ["user", "Ann"]);
    let user = ["A is told one", "A says 1 messages", "A is told three", "A says 3 messages"];
    assert_eq!(log(&threads, "A", None).await, user);
    assert_eq!(log(&threads, "A", Some("Ann")).await, ["A is told two", "A says 1 messages"]);
}
