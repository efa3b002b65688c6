//! Lost connections: a commit whose connection is cut at any message happens once, and its author learns whether it did.

use std::time::Duration;

use entourage_store::{Commit, Error, Store, Write};
use entourage_store_postgres::{PostgresDatabase, Settings};
use entourage_types::{Scope, Wakeup};

use crate::{
    proxy::Proxy,
    server::{NOW, Scratch, events, post, root},
};

fn small() -> Settings {
    Settings { writers: 1, readers: 1, ..Settings::default() }
}

/// Cut before each message of a commit, or after it and before its answer: the commit happens once, and repeated under its
/// id it returns the same. Its hints are sent once, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_cut_at_any_message_happens_once() {
    let Some(scratch) = Scratch::new() else { return };
    let direct = scratch.open(small()).await.unwrap();
    let agent = root();
    direct.commit(Commit::new(NOW).write(Write::NewAgent(agent.clone()))).await.unwrap();
    let proxy = Proxy::start(scratch.server()).await;
    let database = PostgresDatabase::new(&scratch.by_port(proxy.port), small()).unwrap();
    let store = database.connect().await.unwrap();
    let mut before = events(&direct, &agent).await;
    for passes_last in [false, true] {
        for messages in 0.. {
            let claimed = direct.claim(agent.id, 0).await.unwrap().unwrap().agent;
            let child = claimed.child("digger", "digs", None, NOW);
            let letter = post(&claimed);
            let woken = Wakeup::new(agent.id, agent.owner.clone(), NOW);
            let commit = Commit::fenced(&claimed, NOW)
                .write(Write::NewAgent(child.clone()))
                .write(Write::Post(letter.clone()))
                .write(Write::ScheduleWakeup(woken));
            let mut changed = store.changed();
            proxy.cut_after(messages, passes_last);
            let outcome = store.commit(commit.clone()).await;
            // Enough messages for the whole commit: nothing is left to cut.
            let is_whole = proxy.is_pending();
            let again = direct.commit(commit).await.unwrap();
            match outcome {
                Ok(committed) => assert_eq!(committed, again),
                Err(Error::Unknown { .. }) => {}
                Err(other) => panic!("cut after {messages} messages: {other}"),
            }
            assert_eq!(
                events(&direct, &agent).await,
                before + 1,
                "cut after {messages} messages, {passes_last}"
            );
            before += 1;
            assert_eq!(direct.post_ids(agent.id, 1_000).await.unwrap().len(), before - 1);
            let hints: Vec<_> = std::iter::from_fn(|| changed.try_recv().ok()).collect();
            assert_eq!(
                hints.len(),
                usize::from(outcome.is_ok()),
                "cut after {messages} messages, {passes_last}"
            );
            if is_whole {
                assert!(messages > 10, "a commit has more messages than {messages}");
                break;
            }
        }
    }
}

/// A commit that is refused after its connection was lost is refused as ever, and one that cannot be tried again is in
/// doubt only if its end was on its way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_server_a_commit_fails_and_nothing_of_it_is_written() {
    let Some(scratch) = Scratch::new() else { return };
    let direct = scratch.open(small()).await.unwrap();
    let proxy = Proxy::start(scratch.server()).await;
    let patience = Duration::from_secs(2);
    let settings = Settings { patience, ..small() };
    let database = PostgresDatabase::new(&scratch.by_port(proxy.port), settings).unwrap();
    let store = database.connect().await.unwrap();
    store.ready().await.unwrap();
    let agent = root();
    let commit = Commit::new(NOW).write(Write::NewAgent(agent.clone()));
    drop(proxy);
    scratch_out(&scratch).await;
    let refused = store.commit(commit.clone()).await.unwrap_err();
    assert!(refused.is_outage(), "{refused:?}");
    let not_ready = store.ready().await.unwrap_err();
    assert!(not_ready.is_outage(), "{not_ready:?}");
    assert_eq!(direct.agent(&Scope::All, agent.id).await.unwrap(), None);
}

/// Ends all connections of a database but those of this call.
async fn scratch_out(scratch: &Scratch) {
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    scratch.number(end).await;
}

/// The server ends all connections: the next calls make new ones, and nobody notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_on_after_the_server_has_ended_all_connections() {
    let Some(scratch) = Scratch::new() else { return };
    let store = scratch.open(Settings { writers: 3, readers: 3, ..Settings::default() }).await.unwrap();
    let agent = root();
    store.commit(Commit::new(NOW).write(Write::NewAgent(agent.clone()))).await.unwrap();
    for round in 1..=5 {
        scratch_out(&scratch).await;
        store.ready().await.unwrap();
        scratch_out(&scratch).await;
        assert!(store.agent(&Scope::All, agent.id).await.unwrap().is_some());
        scratch_out(&scratch).await;
        let claimed = store.claim(agent.id, 0).await.unwrap().unwrap().agent;
        scratch_out(&scratch).await;
        store.commit(Commit::fenced(&claimed, NOW).write(Write::Post(post(&agent)))).await.unwrap();
        assert_eq!(store.inbox(agent.id).await.unwrap().len(), round);
    }
}
