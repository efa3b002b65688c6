//! Moving all rows from a file to a database.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use entourage_store::{
    Commit, Error, Result, Store, Write,
    conformance::{Backing, random::any_random_history_goes_on_after_a_move},
    moving::{Inventory, MoveStep, Moved, RowKind, RowSource, RowTarget, move_rows},
};
use entourage_store_postgres::{PostgresDatabase, PostgresStore, Settings};
use entourage_store_sqlite::{Durability, SqliteFile, SqliteStore};
use entourage_types::{Agent, Scope};
use tempfile::TempDir;

use crate::{
    proxy::Proxy,
    server::{NOW, Scratch, post, root},
};

/// A database file in its own directory.
struct File(TempDir);

impl File {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("entourage.db")
    }

    fn file(&self) -> SqliteFile {
        SqliteFile::new(self.path(), settings())
    }

    /// Opens it, with some agents in a few trees.
    async fn with_agents(agents: usize) -> (Self, Vec<Agent>) {
        let (own, mut made): (_, Vec<Agent>) = (Self::new(), Vec::new());
        let store = own.open().await.unwrap();
        for nth in 0..agents {
            let agent = match made.get(nth / 2).filter(|_| nth % 10 != 0) {
                Some(above) => above.child("digger", "digs", None, NOW),
                None => root(),
            };
            let letter = post(&agent);
            let new = Commit::new(NOW).write(Write::NewAgent(agent.clone())).write(Write::Post(letter));
            store.commit(new).await.unwrap();
            made.push(agent);
        }
        drop(store);
        (own, made)
    }

    /// What reads of the file find.
    async fn agents(&self) -> Vec<Agent> {
        let store = self.open().await.unwrap();
        store.agents(&Scope::All, everything()).await.unwrap()
    }
}

fn settings() -> entourage_store_sqlite::Settings {
    entourage_store_sqlite::Settings { durability: Durability::Normal, migrate: false, ..Default::default() }
}

fn everything() -> entourage_store::AgentQuery {
    let page = entourage_store::Page { limit: 10_000, ..entourage_store::Page::default() };
    entourage_store::AgentQuery { page, ..entourage_store::AgentQuery::default() }
}

#[async_trait]
impl Backing for File {
    type Store = SqliteStore;

    async fn open(&self) -> Result<SqliteStore> {
        SqliteStore::open(self.path(), entourage_store_sqlite::Settings { migrate: true, ..settings() })
    }
}

#[async_trait]
impl Backing for Scratch {
    type Store = PostgresStore;

    async fn open(&self) -> Result<PostgresStore> {
        Self::open(self, Settings { writers: 4, readers: 4, ..Settings::default() }).await
    }
}

async fn moved(file: &File, url: &str) -> Result<Inventory> {
    let (source, database) = (file.file().rows().await?, PostgresDatabase::new(url, Settings::default())?);
    move_rows(source, database.target().await?, Box::new(|_| {})).await
}

/// How many rows the database has.
async fn rows(scratch: &Scratch) -> i64 {
    let tables = "trees agents items runs steps inbox wakeups events entities budgets reservations usage_of_owners \
                  usage_of_removed subtrees receipts";
    let counts: Vec<String> =
        tables.split_whitespace().map(|table| format!("(SELECT count(*) FROM {table})")).collect();
    scratch.number(&format!("SELECT {}", counts.join(" + "))).await
}

/// Whatever was committed to a file reads from the database as from the store in memory, in the same order, and goes on
/// there alike.
#[test]
fn any_history_goes_on_in_the_database() {
    if crate::server::url().is_none() {
        return;
    }
    any_random_history_goes_on_after_a_move(
        File::new,
        || Scratch::new().unwrap(),
        async |file, scratch| moved(file, &scratch.url()).await.map(drop),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_tells_its_progress_and_what_it_has_moved() {
    let Some(scratch) = Scratch::new() else { return };
    let (file, agents) = File::with_agents(30).await;
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (source, hears) = (file.file().rows().await.unwrap(), Arc::clone(&told));
    // An agent, its post and its event each.
    assert_eq!(source.count(), 90);
    let database = PostgresDatabase::new(&scratch.url(), Settings::default()).unwrap();
    let tell = move |progress| hears.lock().unwrap().push(progress);
    let found = move_rows(source, database.target().await.unwrap(), Box::new(tell)).await.unwrap();
    assert_eq!((found.rows(RowKind::Agent), found.rows(RowKind::Post), found.total()), (30, 30, 90));
    let told = std::mem::take(&mut *told.lock().unwrap());
    for step in [MoveStep::Write, MoveStep::Compare] {
        let last = told.iter().rev().find(|told| told.step == step);
        assert_eq!(last, Some(&Moved { step, rows: 90, of: 90 }));
    }
    assert!(told.is_sorted_by_key(|told| (told.step == MoveStep::Compare, told.rows)));
    let store = scratch.open(Settings::default()).await.unwrap();
    let there = store.agents(&Scope::All, everything()).await.unwrap();
    let raised = agents.iter().map(|agent| Agent { epoch: agent.epoch.next(0), ..agent.clone() });
    assert_eq!(there, raised.collect::<Vec<_>>());
}

/// A database with rows is refused, and so is one that an earlier move has filled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_with_rows_is_refused() {
    let Some(scratch) = Scratch::new() else { return };
    let (file, agents) = File::with_agents(3).await;
    moved(&file, &scratch.url()).await.unwrap();
    let before = rows(&scratch).await;
    let Err(Error::Unusable { path, why }) = moved(&file, &scratch.url()).await else {
        panic!("it has rows")
    };
    assert!(why.contains("it has rows already") && path.starts_with("postgres://127.0.0.1"), "{path}: {why}");
    assert_eq!(rows(&scratch).await, before);
    assert_eq!(file.agents().await, agents);
}

/// Cut before any message, or after it and before its answer: the database has no row and takes them all the next time, or
/// has them all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_is_cut_at_any_message_leaves_nothing_or_everything() {
    let Some(scratch) = Scratch::new() else { return };
    let (file, agents) = File::with_agents(12).await;
    drop(scratch.open(Settings::default()).await.unwrap());
    let mut messages = 0;
    loop {
        // Another one each time: what a connection that was cut still says does not count.
        let proxy = Proxy::start(scratch.server()).await;
        proxy.cut_after(messages, messages % 2 == 0);
        let outcome = moved(&file, &scratch.by_port(proxy.port)).await;
        let is_whole = proxy.is_pending();
        idle(&scratch).await;
        match &outcome {
            Ok(_) => assert!(is_whole, "cut after {messages} messages"),
            Err(Error::MoveUnknown { .. }) => {}
            Err(_) => {
                assert_eq!(rows(&scratch).await, 0, "cut after {messages} messages: {outcome:?}");
            }
        }
        if is_whole || rows(&scratch).await > 0 {
            break;
        }
        messages += 7;
    }
    assert!(messages > 60, "a move has more messages than {messages}");
    if rows(&scratch).await == 0 {
        moved(&file, &scratch.url()).await.unwrap();
    }
    assert_eq!(rows(&scratch).await, 12 * 3 + 2 + 6, "agents, posts, events, trees and sums");
    assert_eq!(file.agents().await, agents);
}

/// Waits until the server has ended all connections but those of this call.
async fn idle(scratch: &Scratch) {
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                  AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    while scratch.number(others).await > 0 {}
}

/// Who no longer waits for a move has moved nothing, and both sides are free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_is_dropped_leaves_nothing() {
    let Some(scratch) = Scratch::new() else { return };
    let (file, _) = File::with_agents(600).await;
    let source = file.file().rows().await.unwrap();
    let database = PostgresDatabase::new(&scratch.url(), Settings::default()).unwrap();
    let (begun, begins) = tokio::sync::oneshot::channel();
    let mut begun = Some(begun);
    let tell = move |_| {
        if let Some(begun) = begun.take() {
            begun.send(()).unwrap();
        }
    };
    let target = database.target().await.unwrap();
    tokio::select! {
        done = move_rows(source, target, Box::new(tell)) => panic!("{done:?}"),
        heard = begins => heard.unwrap(),
    }
    idle(&scratch).await;
    assert_eq!(rows(&scratch).await, 0);
    moved(&file, &scratch.url()).await.unwrap();
}

/// Before its end, nobody sees a row of a move, and a commit of another program waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_sees_a_part_of_a_move_or_writes_beside_it() {
    let Some(scratch) = Scratch::new() else { return };
    let (file, _) = File::with_agents(3).await;
    let store = scratch.open(Settings::default()).await.unwrap();
    let database = PostgresDatabase::new(&scratch.url(), Settings::default()).unwrap();
    let (mut source, mut target) = (file.file().rows().await.unwrap(), database.target().await.unwrap());
    while let Some(page) = source.next().await.unwrap() {
        target.write(page).await.unwrap();
    }
    assert_eq!(store.agents(&Scope::All, everything()).await.unwrap(), []);
    let agent = root();
    let mut beside = Box::pin(store.commit(Commit::new(NOW).write(Write::NewAgent(agent.clone()))));
    tokio::select! {
        done = &mut beside => panic!("{done:?}"),
        ended = target.finish() => ended.unwrap(),
    }
    beside.await.unwrap();
    assert_eq!(store.agents(&Scope::All, everything()).await.unwrap().len(), 4);
    assert!(store.agent(&Scope::All, agent.id).await.unwrap().is_some());
}

/// A file that is in use, missing, of another version or damaged is refused, and nothing is moved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_read_is_refused() {
    let Some(scratch) = Scratch::new() else { return };
    let why = async |file: &File| moved(file, &scratch.url()).await.unwrap_err();
    let (file, _) = File::with_agents(3).await;
    let held = file.open().await.unwrap();
    assert!(matches!(why(&file).await, Error::InUse { .. }));
    drop(held);
    let none = why(&File::new()).await;
    assert!(matches!(&none, Error::Unusable { why, .. } if why.contains("no database yet")), "{none:?}");
    let change = |sql: &str| rusqlite::Connection::open(file.path()).unwrap().execute_batch(sql).unwrap();
    for (version, word) in [(1_000, "newer"), (1, "entourage migrate")] {
        change(&format!("PRAGMA user_version = {version}"));
        let other = why(&file).await;
        assert!(matches!(&other, Error::Unusable { why, .. } if why.contains(word)), "{other:?}");
    }
    change(&format!("PRAGMA user_version = {}", entourage_store_sqlite::VERSION));
    change("UPDATE inbox SET body = '{}'");
    let damaged = why(&file).await;
    assert!(matches!(damaged, Error::Corrupt(_)), "{damaged:?}");
    assert!(!file.0.path().join("entourage.db-wal").exists());
    assert_eq!(rows(&scratch).await, 0);
}

/// What an older program stored and no database but the file could hold is moved in a form that every database can hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_of_before_the_rules_are_moved_without_nul() {
    let Some(scratch) = Scratch::new() else { return };
    let (file, agents) = File::with_agents(1).await;
    let file_of = rusqlite::Connection::open(file.path()).unwrap();
    file_of.execute("UPDATE agents SET title = 'a' || char(0) || 'b'", []).unwrap();
    drop(file_of);
    moved(&file, &scratch.url()).await.unwrap();
    let store = scratch.open(Settings::default()).await.unwrap();
    assert_eq!(store.agent(&Scope::All, agents[0].id).await.unwrap().unwrap().title, "a\u{fffd}b");
}

/// Rows that the database would keep as one are a difference, which is named before anything counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_would_be_lost_is_named() {
    let Some(scratch) = Scratch::new() else { return };
    let (file, agents) = File::with_agents(2).await;
    let insert = "INSERT INTO wakeups (agent, id, owner, due) VALUES (?1, 'wkp_0199a3e4000070008000000000000001', 'ann', 1)";
    let file_of = rusqlite::Connection::open(file.path()).unwrap();
    for agent in &agents {
        file_of.execute(insert, [agent.id.to_string()]).unwrap();
    }
    drop(file_of);
    let refused = moved(&file, &scratch.url()).await.unwrap_err();
    assert!(
        refused.to_string().starts_with("2 wake-ups were read, and 1 are there. Nothing was moved"),
        "{refused}"
    );
    assert_eq!(rows(&scratch).await, 0);
}
