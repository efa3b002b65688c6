//! Tests that the next process continues what an interrupted one left.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage::{
    Error, Page,
    agency::{Agency, AgencyBuilder, function_tool},
    schemars::{self, JsonSchema},
};
use entourage_llm::{Script, ScriptedModel};
use entourage_store::{
    Commit, Committed, Layered, MemoryStore, Result as Stored, RunQuery, Store, StoreLayer,
};
use entourage_testkit::HeldModel;
use entourage_types::{Scope, Status};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::{agent, chain, hands_on, last, lines, within};

async fn thread_logs(agency: &Agency) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for thread in agency.threads().threads("c").await.unwrap() {
        all.push(lines(&thread.get_full_log().await.unwrap()));
    }
    all
}

/// Shows: S2-R014, S2-R030, S2-R085, S2-R086.
#[tokio::test]
async fn a_delegation_continues_where_the_last_process_left_it() {
    let directory = tempfile::tempdir().unwrap();
    let held = || Arc::new(HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(hands_on(request))))));
    let open = async |builder: AgencyBuilder, name: &str, model: &Arc<HeldModel>| {
        let path = directory.path().join(name);
        builder.database(path).model(Arc::clone(model)).open().await.unwrap()
    };
    let undisturbed = {
        let model = held();
        model.let_go(100);
        let agency = open(chain().0, "undisturbed.db", &model).await;
        agency.get_response("Go.").chat_id("c").await.unwrap();
        thread_logs(&agency).await
    };
    // The program ends in the middle of each of the five model calls.
    for done in 0..5 {
        let (name, model) = (format!("{done}.db"), held());
        let agency = open(chain().0, &name, &model).await;
        let stream = agency.get_response_stream("Go.").chat_id("c").key("once").await.unwrap();
        model.let_go(done);
        for _ in 0..=done {
            model.begun().await;
        }
        agency.close().await;
        drop(stream);

        let script = ScriptedModel::deciding(|request| Some(Ok(hands_on(request))));
        let model = Arc::new(HeldModel::new(script.clone()));
        model.let_go(100);
        let agency = open(chain().0, &name, &model).await;
        // No message is sent again: the message, and each answer that a model had returned, was saved by
        // then.
        let resumed = agency.resume_response("c").await.unwrap();
        assert_eq!(script.requests().len(), 5 - done, "no model is asked twice");
        // A caller that sends it again under the same key gets the answer to the first message.
        let said = agency.get_response("Go.").chat_id("c").key("once").await.unwrap();
        assert_eq!(said.final_output.as_deref(), Some("<<<Go.>>>"), "after {done} calls");
        assert_eq!((said.usage.calls, said.nested.len()), (5, 2), "each is paid for once");
        assert_eq!(resumed.run_id, said.run_id);
        assert_eq!(thread_logs(&agency).await, undisturbed, "after {done} calls");
        let next = agency.get_response("More.").chat_id("c").await.unwrap();
        assert_eq!(next.final_output.as_deref(), Some("<<<More.>>>"));
    }
}

#[derive(Deserialize, JsonSchema)]
struct Number {
    n: i64,
}

/// Shows: S2-R053.
#[tokio::test]
async fn the_next_process_reads_the_output_of_every_tool_call() {
    let directory = tempfile::tempdir().unwrap();
    let open = async || {
        let twice = function_tool("twice", "Doubles.", |_, number: Number| async move {
            if number.n == 0 { Err("not of nothing".to_owned()) } else { Ok((number.n * 2).to_string()) }
        });
        let a = crate::builder("A").instructions("You are A.").tool(twice.pure()).build().unwrap();
        let model = Arc::new(ScriptedModel::deciding(|request| {
            Some(Ok(match request.messages.len() {
                1 => Script::call("twice", json!({"n": 4}))
                    .and_call("twice", json!({"n": 0}))
                    .and_call("twice", json!({"n": 8})),
                _ => Script::text("Done."),
            }))
        }));
        let builder = Agency::new([&a], []).database(directory.path().join("tools.db"));
        builder.model(model).open().await.unwrap()
    };
    let agency = open().await;
    agency.get_response("Go.").chat_id("c").await.unwrap();
    agency.close().await;
    let calls = ["A calls twice "; 3];
    let outputs = ["A gets 8", "A gets! not of nothing", "A gets 16"];
    let expected = [&["A is told Go."][..], &calls, &outputs, &["A says Done."]].concat();
    assert_eq!(thread_logs(&open().await).await, [expected]);
}

#[tokio::test]
async fn a_chat_without_messages_cannot_be_resumed() {
    let a = agent("A");
    let model = Arc::new(ScriptedModel::new([]));
    let agency = Agency::new([&a], []).model(model).in_memory().open().await.unwrap();
    let refused = agency.resume("c").await.err().unwrap().to_string();
    assert!(refused.contains("has no messages yet"), "{refused}");
}

/// Closing an agency ends every wait for an answer, and closes the database although handles are held.
#[tokio::test]
async fn closing_an_agency_ends_every_wait_and_releases_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agency.db");
    let open = async |model: &Arc<HeldModel>| {
        let a = agent("A");
        let builder = Agency::new([&a], []).database(&path).model(Arc::clone(model));
        builder.open().await.map(|agency| (a, agency))
    };
    let held = || Arc::new(HeldModel::new(ScriptedModel::deciding(|_| Some(Ok(Script::text("here"))))));
    let model = held();
    let (a, agency) = open(&model).await.unwrap();
    let waiting = tokio::spawn(a.get_response("Go.").chat_id("c").into_future());
    model.begun().await;
    let stream = agency.resume("c").await.unwrap();
    let (client, threads) = (agency.client().clone(), agency.threads());
    let thread = threads.get_thread("c", "A", None).await.unwrap().unwrap();
    within("it is closed", agency.close()).await;
    let refused = within("whoever asked is told", waiting).await.unwrap();
    assert!(matches!(refused, Err(Error::Closed)), "{refused:?}");
    assert!(matches!(within("the stream ends", stream.result()).await, Err(Error::Closed)));
    assert!(thread.get_full_log().await.is_err() && client.chat("c").await.is_err());

    let model = held();
    model.let_go(1);
    let (_a, agency) = open(&model).await.expect("nobody holds the database");
    let resumed = agency.resume_response("c").await.unwrap();
    assert_eq!(resumed.final_output.as_deref(), Some("here"));
    drop((threads, thread, client));
}

/// Dropping the last handle closes the database too, without a call of `close`, also in the middle of a run:
/// the run continues in the next agency.
#[tokio::test]
async fn dropping_the_last_handle_releases_the_database() {
    let directory = tempfile::tempdir().unwrap();
    for is_at_work in [false, true] {
        let path = directory.path().join(format!("{is_at_work}.db"));
        let open = async |model: &Arc<HeldModel>| {
            let a = agent("A");
            let builder = Agency::new([&a], []).database(&path).model(Arc::clone(model));
            builder.open().await.map(|agency| (a, agency))
        };
        let held = || Arc::new(HeldModel::new(ScriptedModel::deciding(|_| Some(Ok(Script::text("here"))))));
        let model = held();
        let (a, agency) = open(&model).await.unwrap();
        let stream = a.get_response_stream("Go.").chat_id("c").await.unwrap().detached();
        model.begun().await;
        let stream = if is_at_work {
            Some(stream)
        } else {
            model.let_go(1);
            stream.result().await.unwrap();
            None
        };
        let (client, threads) = (agency.client().clone(), agency.threads());
        let thread = threads.get_thread("c", "A", None).await.unwrap().unwrap();
        drop((agency, a, threads, stream));
        thread.get_full_log().await.unwrap();
        drop(thread);
        client.chat("c").await.unwrap();
        assert!(matches!(open(&model).await, Err(Error::Store(_))), "it is in use by the client");
        drop(client);

        let next = held();
        next.let_go(1);
        let reopened = async {
            loop {
                match open(&next).await {
                    Err(Error::Store(_)) => tokio::task::yield_now().await,
                    opened => return opened.unwrap(),
                }
            }
        };
        let reopened = tokio::time::timeout(Duration::from_secs(5), reopened).await;
        let (_a, agency) = reopened.expect("nobody holds the database");
        let resumed = agency.resume_response("c").await.unwrap();
        assert_eq!(resumed.final_output.as_deref(), Some("here"));
    }
}

/// A store that holds the commits of agents, once it is switched to slow.
#[derive(Clone)]
struct SlowStore {
    is_slow: Arc<AtomicBool>,
    come: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
}

#[async_trait]
impl StoreLayer for SlowStore {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> Stored<Committed> {
        if commit.fence.is_some() && self.is_slow.load(Ordering::SeqCst) {
            self.come.add_permits(1);
            self.let_go.acquire().await.unwrap().forget();
        }
        store.commit(commit).await
    }
}

/// A commit that is running when the agency is closed has its grace period.
#[tokio::test]
async fn closing_an_agency_lets_a_running_commit_finish() {
    let signal = || Arc::new(Semaphore::new(0));
    let slow = SlowStore { is_slow: Arc::default(), come: signal(), let_go: signal() };
    let kept = Arc::new(MemoryStore::default());
    let model = Arc::new(HeldModel::new(ScriptedModel::new([Script::text("here")])));
    let a = agent("A");
    let through = Arc::new(Layered::new(Arc::<MemoryStore>::clone(&kept), slow.clone()));
    let agency = Agency::new([&a], []).store(through).model(Arc::clone(&model)).open().await.unwrap();
    let waiting = tokio::spawn(a.get_response("Go.").chat_id("c").into_future());
    model.begun().await;
    slow.is_slow.store(true, Ordering::SeqCst);
    model.let_go(1);
    slow.come.acquire().await.unwrap().forget();
    let later = async {
        // The agency closes as far as it can.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        slow.is_slow.store(false, Ordering::SeqCst);
        slow.let_go.add_permits(1);
    };
    tokio::join!(agency.close(), later);
    assert!(matches!(waiting.await.unwrap(), Err(Error::Closed)));
    let runs = kept.runs(&Scope::All, RunQuery::default()).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.status).collect::<Vec<_>>(), [Status::Succeeded]);
}

/// A message under a key and in no named chat is accepted once.
#[tokio::test]
async fn a_message_under_a_key_without_a_chat_is_accepted_once() {
    let a = agent("A");
    let model = Arc::new(ScriptedModel::new([Script::text("once")]));
    let agency = Agency::new([&a], []).model(Arc::clone(&model)).in_memory().open().await.unwrap();
    let said = agency.get_response("hi").key("k").await.unwrap();
    let again = agency.get_response("hi").key("k").await.unwrap();
    assert_eq!((again.run_id, again.chat_id.as_str()), (said.run_id, "k"));
    assert_eq!(model.requests().len(), 1);
}

/// Resuming follows the last message to any agent of the chat.
#[tokio::test]
async fn resuming_a_chat_follows_its_last_message() {
    let (a, b) = (agent("A"), agent("B"));
    let model =
        Arc::new(ScriptedModel::deciding(|request| Some(Ok(Script::text(format!("to {}", last(request)))))));
    let agency = Agency::new([&a, &b], []).model(model).in_memory().open().await.unwrap();
    for (agent, text) in [(&a, "one"), (&b, "two"), (&a, "three"), (&b, "four")] {
        agent.get_response(text).chat_id("c").await.unwrap();
        let resumed = agency.resume_response("c").await.unwrap();
        assert_eq!(resumed.final_output, Some(format!("to {text}")));
        assert_eq!(resumed.agent, agent.name());
    }
}

/// Chats are listed by name; a deleted chat is not, and its name starts a new one.
#[tokio::test]
async fn chats_are_listed_and_deleted() {
    let (a, b) = (agent("A"), agent("B"));
    let model = Arc::new(ScriptedModel::deciding(|request| {
        Some(Ok(Script::text(format!("{} messages", request.messages.len()))))
    }));
    let agency = Agency::new([&a, &b], []).model(model).in_memory().open().await.unwrap();
    agency.get_response("hi").chat_id("c").await.unwrap();
    b.get_response("hi").chat_id("c").await.unwrap();
    let names = async || {
        let chats = agency.chats(Page::default()).await.unwrap();
        chats.into_iter().map(|chat| chat.name).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["c"]);
    agency.delete_chat("c").await.unwrap();
    assert_eq!(names().await, [""; 0]);
    let anew = agency.get_response("hi").chat_id("c").await.unwrap();
    assert_eq!(anew.final_output.as_deref(), Some("1 messages"));
    assert_eq!(agency.threads().threads("c").await.unwrap().len(), 1);
    assert_eq!(names().await, ["c"]);
}
