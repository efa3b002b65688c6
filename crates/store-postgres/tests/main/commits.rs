//! Commits: what they leave behind where they are refused, how few connections they need, and how many questions they ask.

use std::sync::Arc;

use entourage_store::{Commit, Error, Expect, Store, Write};
use entourage_store_postgres::{Durability, Settings};
use entourage_types::{AgentId, Scope};

use crate::server::{NOW, Scratch, post, root};

/// A refused commit writes nothing into any table, and its connection serves the next one.
#[tokio::test]
async fn a_refused_commit_writes_nothing() {
    let Some(scratch) = Scratch::new() else { return };
    let store = scratch.open(Settings { writers: 1, ..Settings::default() }).await.unwrap();
    let agent = root();
    store.commit(Commit::new(NOW).write(Write::NewAgent(agent.clone()))).await.unwrap();
    let rows = "SELECT sum((xpath('/row/c/text()', query_to_xml('SELECT count(*) AS c FROM ' || relname, false, true, \
                '')))[1]::text::bigint)::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
    let before = scratch.number(rows).await;
    let refused = Commit::new(NOW)
        .expect(Expect::Agent(AgentId::new()))
        .write(Write::NewAgent(root()))
        .write(Write::Post(post(&agent)));
    for _ in 0..3 {
        assert!(matches!(store.commit(refused.clone()).await, Err(Error::NoAgent { .. })));
    }
    assert_eq!(scratch.number(rows).await, before);
    store.commit(Commit::new(NOW).write(Write::Post(post(&agent)))).await.unwrap();
}

/// With one connection to write and one to read, many callers are served one after the other, whatever the durability.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_of_one_serves_many_callers() {
    let Some(scratch) = Scratch::new() else { return };
    for durability in [Durability::Full, Durability::Normal] {
        let settings = Settings { writers: 1, readers: 1, durability, ..Settings::default() };
        let store = Arc::new(scratch.open(settings).await.unwrap());
        let agent = root();
        store.commit(Commit::new(NOW).write(Write::NewAgent(agent.clone()))).await.unwrap();
        let callers: Vec<_> = (0..40)
            .map(|_| {
                let (store, agent) = (Arc::clone(&store), agent.clone());
                tokio::spawn(async move {
                    store.commit(Commit::new(NOW).write(Write::Post(post(&agent)))).await.unwrap();
                    store.inbox(agent.id).await.unwrap().len()
                })
            })
            .collect();
        for caller in callers {
            assert!(caller.await.unwrap() > 0);
        }
        assert_eq!(store.inbox(agent.id).await.unwrap().len(), 40);
    }
}

/// A caller that no longer waits leaves no transaction behind: the commit happens, and its connection is free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_nobody_waits_for_ends() {
    let Some(scratch) = Scratch::new() else { return };
    let store = scratch.open(Settings { writers: 1, readers: 1, ..Settings::default() }).await.unwrap();
    let agent = root();
    store.commit(Commit::new(NOW).write(Write::NewAgent(agent.clone()))).await.unwrap();
    for _ in 0..20 {
        let mut commit = std::pin::pin!(store.commit(Commit::new(NOW).write(Write::Post(post(&agent)))));
        let _ = futures::poll!(commit.as_mut());
    }
    store.commit(Commit::new(NOW).expect(Expect::Agent(agent.id))).await.unwrap();
    // Which of them is first is not said.
    let all = async { while store.inbox(agent.id).await.unwrap().len() < 20 {} };
    tokio::time::timeout(std::time::Duration::from_secs(60), all).await.unwrap();
    assert_eq!(store.agent(&Scope::All, agent.id).await.unwrap(), Some(agent));
}

/// A call that gets no connection in time fails with an outage.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_waits_for_a_connection_only_so_long() {
    let Some(scratch) = Scratch::new() else { return };
    let patience = std::time::Duration::from_secs(2);
    let store =
        Arc::new(scratch.open(Settings { writers: 1, patience, ..Settings::default() }).await.unwrap());
    let agent = root();
    store.commit(Commit::new(NOW).write(Write::NewAgent(agent.clone()))).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&scratch.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("BEGIN; SELECT FROM trees FOR UPDATE").await.unwrap();
    let held = Commit::new(NOW).write(Write::Post(post(&agent)));
    let waits = tokio::spawn({
        let (store, held) = (Arc::clone(&store), held.clone());
        async move { store.commit(held).await }
    });
    let refused = loop {
        match store.ready().await {
            Ok(()) => tokio::task::yield_now().await,
            Err(error) => break error,
        }
    };
    assert!(refused.is_outage(), "{refused:?}");
    client.batch_execute("ROLLBACK").await.unwrap();
    waits.await.unwrap().unwrap();
    store.ready().await.unwrap();
}

/// One busy tree keeps no other from being served: its commits wait without a connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_tree_leaves_connections_to_others() {
    let Some(scratch) = Scratch::new() else { return };
    let patience = std::time::Duration::from_secs(2);
    let store =
        Arc::new(scratch.open(Settings { writers: 2, patience, ..Settings::default() }).await.unwrap());
    let (busy, other) = (root(), root());
    for agent in [&busy, &other] {
        store.commit(Commit::new(NOW).write(Write::NewAgent(agent.clone()))).await.unwrap();
        store.claim(agent.id, 0).await.unwrap();
    }
    let (client, connection) = tokio_postgres::connect(&scratch.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let held =
        "BEGIN; SELECT FROM trees WHERE root = '{}' FOR UPDATE".replace("{}", &busy.id.uuid().to_string());
    client.batch_execute(&held).await.unwrap();
    let waiting: Vec<_> = (0..10)
        .map(|_| {
            let (store, commit) = (Arc::clone(&store), Commit::new(NOW).write(Write::Post(post(&busy))));
            tokio::spawn(async move { store.commit(commit).await })
        })
        .collect();
    for _ in 0..20 {
        store.commit(Commit::new(NOW).write(Write::Post(post(&other)))).await.unwrap();
    }
    assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
    client.batch_execute("ROLLBACK").await.unwrap();
    for waiting in waiting {
        waiting.await.unwrap().unwrap();
    }
    assert_eq!(store.inbox(busy.id).await.unwrap().len(), 10);
}
