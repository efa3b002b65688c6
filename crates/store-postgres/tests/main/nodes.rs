//! Nodes: what the suite cannot ask of a store that it knows nothing of.

use std::sync::Arc;

use entourage_store::{Commit, Held, NODE_LEASE, NodeInfo, Nodes, Store, Write};
use entourage_store_postgres::{PostgresStore, Settings};
use entourage_types::{AgentId, NodeRole};

use crate::server::{NOW, Scratch, post, root, run};

fn info() -> NodeInfo {
    NodeInfo {
        listener: None,
        version: "1.0.0".to_owned(),
        role: NodeRole::All,
        dispatch: None,
        draining: false,
    }
}

async fn node(scratch: &Scratch) -> Arc<dyn Nodes> {
    let node = scratch.open(Settings::default()).await.unwrap().nodes().unwrap();
    node.beat(&info()).await.unwrap();
    node
}

async fn pass(scratch: &Scratch, seconds: u64) {
    let micros = seconds * 1_000_000;
    run(&scratch.url(), &[format!("UPDATE nodes SET beat = beat - {micros}")]).await;
}

/// A transaction of somebody else, on a connection of its own.
async fn holding(scratch: &Scratch, statements: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(&scratch.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&format!("BEGIN; {statements}")).await.unwrap();
    client
}

/// Waits until a statement waits for a row.
async fn somebody_waits(scratch: &Scratch) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while scratch.number(waiting).await == 0 {
        tokio::task::yield_now().await;
    }
}

/// A node that takes an agent of a dead one waits for its lease, and that one gives a sign of life meanwhile: it keeps the
/// agent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_is_judged_as_it_is_when_its_lease_can_be_taken() {
    let Some(scratch) = Scratch::new() else { return };
    let (one, other, agent) = (node(&scratch).await, node(&scratch).await, AgentId::new());
    assert_eq!(one.take(&[agent]).await.unwrap(), []);
    pass(&scratch, NODE_LEASE.as_secs()).await;
    other.beat(&info()).await.unwrap();
    let held = holding(&scratch, "SELECT FROM agent_leases FOR UPDATE").await;
    let taken = tokio::spawn({
        let other = Arc::clone(&other);
        async move { other.take(&[agent]).await }
    });
    somebody_waits(&scratch).await;
    one.beat(&info()).await.unwrap();
    held.batch_execute("COMMIT").await.unwrap();
    assert_eq!(taken.await.unwrap().unwrap(), [Held { agent, by: one.id() }]);
}

/// Signs of life wait for no commit, however few connections write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_of_life_waits_for_no_commit() {
    let Some(scratch) = Scratch::new() else { return };
    let settings = Settings { writers: 1, readers: 1, ..Settings::default() };
    let store: Arc<PostgresStore> = Arc::new(scratch.open(settings).await.unwrap());
    let agent = root();
    store.commit(Commit::new(NOW).write(Write::NewAgent(agent.clone()))).await.unwrap();
    let held = holding(&scratch, "SELECT FROM trees FOR UPDATE").await;
    let commit = tokio::spawn({
        let (store, commit) = (Arc::clone(&store), Commit::new(NOW).write(Write::Post(post(&agent))));
        async move { store.commit(commit).await }
    });
    somebody_waits(&scratch).await;
    let node = store.nodes().unwrap();
    assert_eq!(node.beat(&info()).await.unwrap().nodes.len(), 1);
    assert_eq!(node.take(&[agent.id]).await.unwrap(), []);
    assert!(!commit.is_finished());
    held.batch_execute("COMMIT").await.unwrap();
    commit.await.unwrap().unwrap();
}

/// What a node leaves behind is removed with its row, an hour after its last sign of life.
#[tokio::test]
async fn the_rows_of_a_node_are_removed_in_the_end() {
    let Some(scratch) = Scratch::new() else { return };
    let (one, other) = (node(&scratch).await, node(&scratch).await);
    one.take(&[AgentId::new(), AgentId::new()]).await.unwrap();
    one.take_job("sweep").await.unwrap();
    other.take_job("prune").await.unwrap();
    let rows = "SELECT (SELECT count(*) FROM nodes) * 100 + (SELECT count(*) FROM agent_leases) * 10 \
                + (SELECT count(*) FROM job_leases)";
    for (seconds, left) in [(NODE_LEASE.as_secs(), 222), (3_600, 101)] {
        pass(&scratch, seconds).await;
        other.beat(&info()).await.unwrap();
        assert_eq!(scratch.number(rows).await, left);
    }
    other.leave().await.unwrap();
    assert_eq!(scratch.number(rows).await, 0);
}
