//! Rows that are found by the row number of their agent: nobody gets those of another agent, whose number was
//! given again.

use std::path::Path;

use entourage_store::{Commit, ItemQuery, Store, Write};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_types::{
    Agent, AgentId, Author, EventBody, Item, ItemBody, Message, Owner, RunId, Scope, Time, ToolCall, Turn,
};
use rusqlite::{Connection, params};
use tempfile::TempDir;

use crate::older::{insert_agent, of_version};

const AT: Time = Time::from_micros(1_795_292_000_500_000);

/// Writes the first item of a new agent.
async fn begin(store: &SqliteStore, agent: Agent, text: &str) -> Agent {
    store.commit(Commit::new(AT).write(Write::NewAgent(agent.clone()))).await.unwrap();
    let agent = store.claim(agent.id, 0).await.unwrap().unwrap().agent;
    let body = ItemBody::Message(Message::new(Author::User, text, None));
    let item = Item { agent: agent.id, seq: 0, run: RunId::new(), session: 1, at: AT, step: None, body };
    store.commit(Commit::fenced(&agent, AT).write(Write::Item(item))).await.unwrap();
    agent
}

/// The texts of a tree's item events, none where the item is gone.
async fn item_texts(store: &SqliteStore, root: AgentId) -> Vec<Option<String>> {
    let events = store.events(&Scope::All, root, 0, 100).await.unwrap();
    let items = events.into_iter().filter_map(|event| match event.body {
        EventBody::Item { item, .. } => Some(item.map(|item| match item.body {
            ItemBody::Message(message) => message.text,
            other => panic!("{other:?}"),
        })),
        _ => None,
    });
    items.collect()
}

fn row_number(path: &Path, agent: AgentId) -> i64 {
    let sql = "SELECT n FROM agents WHERE id = ?1";
    Connection::open(path).unwrap().query_row(sql, [agent.to_string()], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn events_of_a_removed_agent_show_no_item_of_the_agent_in_its_row() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let root = begin(&store, Agent::root(Owner::local(), "lead", "", AT), "of the root").await;
    let child = begin(&store, Agent::child(&root, "helper", "", None, AT), "of the child").await;
    assert_eq!(item_texts(&store, root.id).await, [Some("of the root".into()), Some("of the child".into())]);
    let row = row_number(&path, child.id);
    store.commit(Commit::new(AT).write(Write::PruneAgent(child.id))).await.unwrap();
    drop(store);
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let other = begin(&store, Agent::root(Owner::new("other"), "helper", "", AT), "of another owner").await;
    assert_eq!(row_number(&path, other.id), row, "the number is given again");
    assert_eq!(item_texts(&store, root.id).await, [Some("of the root".into()), None]);
    assert_eq!(item_texts(&store, other.id).await, [Some("of another owner".into())]);
    assert_eq!(store.items(&Scope::All, ItemQuery::of(child.id, 0, 10)).await.unwrap(), []);
}

#[tokio::test]
async fn an_agent_that_another_program_removed_writes_nothing_into_the_block_of_the_next_one() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let removed = begin(&store, Agent::root(Owner::local(), "lead", "", AT), "of the first").await;
    let by_hand = Connection::open(&path).unwrap();
    by_hand.execute("DELETE FROM agents WHERE id = ?1", [removed.id.to_string()]).unwrap();
    let other = begin(&store, Agent::root(Owner::new("other"), "helper", "", AT), "of another owner").await;
    // The activation of the removed agent goes on.
    let body = ItemBody::Message(Message::new(Author::User, "of the first", None));
    let item = Item { agent: removed.id, seq: 1, run: RunId::new(), session: 1, at: AT, step: None, body };
    store.commit(Commit::fenced(&removed, AT).write(Write::Item(item))).await.unwrap();
    drop((store, by_hand));
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let next = begin(&store, Agent::root(Owner::new("third"), "helper", "", AT), "of the next").await;
    for (agent, text) in [(other, "of another owner"), (next, "of the next")] {
        assert_eq!(store.items(&Scope::All, ItemQuery::of(agent.id, 0, 10)).await.unwrap().len(), 1);
        assert_eq!(item_texts(&store, agent.id).await, [Some(text.into())]);
    }
}

#[tokio::test]
async fn texts_of_eleven_hundred_bytes_share_pages() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let root = begin(&store, Agent::root(Owner::local(), "lead", "", AT), "go").await;
    let run = RunId::new();
    for seq in 1..=200 {
        let calls: Vec<ToolCall> = Vec::new();
        let body = ItemBody::Turn(Turn { text: "x".repeat(1_100), calls, ..Turn::default() });
        let item = Item { agent: root.id, seq, run, session: 1, at: AT, step: None, body };
        store.commit(Commit::fenced(&root, AT).write(Write::Item(item))).await.unwrap();
    }
    drop(store);
    // Three to a page; the layout of schema 20 took 275.
    let pages: u32 =
        Connection::open(&path).unwrap().query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    assert!(pages < 150, "{pages} pages");
}

#[tokio::test]
async fn migration_from_version_20_keeps_items_in_order_and_events_with_their_items() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let [one, two] = [AgentId::new(), AgentId::new()];
    let run = RunId::new();
    {
        let before = of_version(&path, 20);
        for (row, agent) in [(1_i64, one), (2, two)] {
            insert_agent(&before, agent);
            for seq in [1_i64, 0, 2] {
                let body = format!(r#"{{"from":{{"by":"user"}},"text":"{row} {seq}"}}"#);
                let item = "INSERT INTO items (agent, seq, run, session, at, type, body) \
                            VALUES (?1, ?2, ?3, 1, 0, 'message', ?4)";
                before.execute(item, params![agent.to_string(), seq, run.to_string(), body]).unwrap();
                let event = "INSERT INTO events (n, agent, at, item_seq) VALUES (?1, ?2, 0, ?3)";
                before.execute(event, params![row << 32 | (seq + 1), agent.to_string(), seq]).unwrap();
            }
        }
    }
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    for (row, agent) in [(1, one), (2, two)] {
        let texts: Vec<_> = (0..3).map(|seq| Some(format!("{row} {seq}"))).collect();
        assert_eq!(item_texts(&store, agent).await, texts);
        let items = store.items(&Scope::All, ItemQuery::of(agent, 1, 10)).await.unwrap();
        assert_eq!(items.iter().map(|item| item.seq).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(store.agent(&Scope::All, agent).await.unwrap().unwrap().items, 3);
    }
}

/// What a person types at `sqlite3` takes time in proportion to the rows, whatever column it names.
#[tokio::test]
async fn the_views_of_items_and_events_read_no_row_once_for_each_agent() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    drop(SqliteStore::open(&path, Settings::default()).unwrap());
    let database = Connection::open(&path).unwrap();
    let steps = |agents: i64, sql: &str| {
        database.execute_batch("DELETE FROM items; DELETE FROM events; DELETE FROM agents").unwrap();
        database
            .execute_batch(&format!(
                "WITH RECURSIVE row (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < {agents})
                 INSERT INTO agents (n, id, owner, root, depth, kind, title, status, epoch, session, created, updated)
                 SELECT i, 'agt_' || i, 'local', 'agt_' || i, 0, 'helper', '', 'succeeded', 1, 1, 0, 0 FROM row;
                 INSERT INTO items (n, run, session, at, type, body)
                 SELECT n << 32 | value, 'r', 1, 0, 'turn', '{{}}' FROM agents, json_each('[1,2,3,4]');
                 INSERT INTO events (n, agent, at, item_seq)
                 SELECT n << 32 | value, agents.id, 0, value FROM agents, json_each('[1,2,3,4]');"
            ))
            .unwrap();
        let mut statement = database.prepare(sql).unwrap();
        let rows: i64 = statement.query_row([], |row| row.get(0)).unwrap();
        assert!(rows >= agents, "{sql}");
        statement.get_status(rusqlite::StatementStatus::VmStep)
    };
    for sql in [
        "SELECT count(*) FROM transcript WHERE type = 'turn'",
        "SELECT count(*) FROM transcript WHERE session = 1",
        "SELECT count(*) FROM event_list WHERE item_seq = 3",
        "SELECT count(*) FROM event_list WHERE event = 'item'",
    ] {
        let (few, many) = (steps(50, sql), steps(200, sql));
        assert!(many < 6 * few, "{sql}: {few} steps with 50 agents, {many} with 200");
    }
}
