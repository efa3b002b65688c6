//! The tree of active agents beside many that are at rest: what is read for it does not grow with them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use async_trait::async_trait;
use entourage_engine::{Client, NewExploration};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::StoreLayer;
use entourage_testkit::World;
use entourage_types::{AgentId, AgentState, Owner, Scope};
use rusqlite::Connection;
use serde_json::json;

use crate::kit::{Database, eventually, first_tools, one_kind};

const ACTIVE: usize = 100;
const AT_REST: usize = 100_000;

/// Counts the calls of the store, and the rows that they return.
#[derive(Clone, Default)]
struct Reads(Arc<(AtomicUsize, AtomicUsize)>);

#[async_trait]
impl StoreLayer for Reads {
    async fn pass(&self) -> entourage_store::Result<()> {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn shown(&self, _: &Scope, _: &Owner) {
        self.0.1.fetch_add(1, Ordering::Relaxed);
    }
}

impl Reads {
    fn take(&self) -> (usize, usize) {
        (self.0.0.swap(0, Ordering::Relaxed), self.0.1.swap(0, Ordering::Relaxed))
    }
}

fn asking() -> ScriptedModel {
    ScriptedModel::deciding(|request: &Request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text.starts_with("Ask") => {
                Script::call("ask_user", json!({"question": "Which?"}))
            }
            _ => Script::text("Done."),
        }))
    })
}

/// Writes `many` agents that are at rest as this one is, each a tree of its own, with runs and records.
fn copy_at_rest(database: &Database, agent: AgentId, many: usize) {
    let connection = Connection::open(database.path()).unwrap();
    let new = "printf('agt_%032x', i + 1)";
    let other = |prefix: &str| format!("printf('{prefix}_%032x', i + 1)");
    let renamed = |column: &str| format!("replace({column}, '{agent}', {new})");
    connection.execute_batch("BEGIN").unwrap();
    for (table, of, own) in [
        ("agents", "id", BTreeMap::from([("id", new.to_owned()), ("root", new.to_owned())])),
        ("runs", "agent", BTreeMap::from([("id", other("run")), ("agent", new.to_owned())])),
        ("entities", "root", ["id", "root", "parent", "body"].map(|column| (column, renamed(column))).into()),
    ] {
        let mut columns = connection
            .prepare(&format!("SELECT name FROM pragma_table_info('{table}') WHERE name <> 'n'"))
            .unwrap();
        let columns: Vec<String> =
            columns.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        let values: Vec<&str> = columns
            .iter()
            .map(|column| own.get(column.as_str()).map_or(column.as_str(), String::as_str))
            .collect();
        let sql = format!(
            "WITH RECURSIVE row (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < {many}) \
             INSERT OR IGNORE INTO {table} ({}) SELECT {} FROM {table}, row WHERE {table}.{of} = '{agent}'",
            columns.join(", "),
            values.join(", ")
        );
        connection.execute_batch(&sql).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
}

fn explores(prompt: &str) -> NewExploration {
    NewExploration { kind: Some("assistant".into()), ..NewExploration::of(prompt) }
}

/// Reads the tree and its nodes; returns what the store was asked for.
async fn read(client: &Client, reads: &Reads) -> [(usize, usize); 2] {
    reads.take();
    let tree = client.active_tree(None).await.unwrap();
    assert_eq!(tree.agents.len(), ACTIVE);
    let of_tree = reads.take();
    let nodes = client.active_nodes(tree.agents).await.unwrap();
    assert!(nodes.iter().all(|node| node.question.is_some()));
    [of_tree, reads.take()]
}

/// The queries behind it touch no rows of agents at rest, as the tests of the store's plans show; here it shows that
/// nothing else is read. Time is printed, and not judged.
///
/// Shows: S3-R081, S3-R083.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tree_of_active_agents_costs_the_same_beside_a_hundred_thousand_at_rest() {
    let (database, reads) = (Database::new(), Reads::default());
    let world = World::builder(asking())
        .tools(first_tools())
        .kinds(one_kind(|kind| {
            (kind.limits.max_children, kind.limits.max_tree) = (2 * ACTIVE as u32, 2 * ACTIVE as u32);
        }))
        .store(database.open())
        .between(reads.clone())
        .start()
        .await;
    let client = world.client();
    let rests = client.explore(explores("Go."), None).await.unwrap();
    world.ended(rests.id).await;
    let root = client.explore(explores("Ask."), None).await.unwrap();
    for _ in 1..ACTIVE {
        let below = NewExploration { parent: Some(root.id.to_string()), ..explores("Ask.") };
        client.explore(below, None).await.unwrap();
    }
    let tree = async || client.active_tree(None).await.unwrap().agents;
    eventually("all ask", tree, |agents| {
        agents.len() == ACTIVE
            && agents
                .iter()
                .all(|active| active.state == AgentState::AwaitingUser && active.agent.waiting_on.is_some())
    })
    .await;
    // Until nothing is under way.
    let calm = async || [read(&client, &reads).await, read(&client, &reads).await];
    let [few, _] = eventually("nobody else reads", calm, |[first, second]| first == second).await;
    copy_at_rest(&database, rests.id, AT_REST);
    let at_rest: u32 = Connection::open(database.path())
        .unwrap()
        .query_row("SELECT count(*) FROM agents", [], |row| row.get(0))
        .unwrap();
    assert_eq!(at_rest as usize, AT_REST + 1 + ACTIVE);
    assert_eq!(
        read(&client, &reads).await,
        few,
        "calls of the store and rows, for the tree and for its nodes"
    );
    let mut took = [Vec::new(), Vec::new()];
    for _ in 0..20 {
        let began = Instant::now();
        let tree = client.active_tree(None).await.unwrap();
        took[0].push(began.elapsed());
        let began = Instant::now();
        client.active_nodes(tree.agents).await.unwrap();
        took[1].push(began.elapsed());
    }
    took.iter_mut().for_each(|took| took.sort());
    println!(
        "{ACTIVE} active among {AT_REST}: tree {:?}, nodes {:?} (medians); calls and rows {few:?}",
        took[0][10], took[1][10]
    );
}
