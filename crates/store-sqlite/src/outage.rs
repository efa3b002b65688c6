//! A database that cannot be written for a while: the disk is full, or the file is held by another program,
//! read-only, or moved away. Nothing is lost; the store reports that it is not ready, and continues by
//! itself.

use std::{
    pin::pin,
    task::{Context, Waker},
    thread,
    time::{Duration, Instant},
};

use entourage_store::{Commit, Error, Store, Write};
use entourage_types::{Agent, AgentId, Event, EventBody, Owner, Scope, Status, Time, WaitingOn};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{Durability, Settings, SqliteStore};

fn open(durability: Durability) -> (TempDir, SqliteStore) {
    let directory = TempDir::new().unwrap();
    let patience = Duration::ZERO;
    let settings = Settings { durability, patience, ..Settings::default() };
    let store = SqliteStore::open(directory.path().join("entourage.db"), settings).unwrap();
    (directory, store)
}

/// An agent whose row fills many pages.
fn large() -> Agent {
    let title = "x".repeat(1_000_000);
    Agent::root(Owner::local(), "helper", title, Time::from_micros(0))
}

async fn write(store: &SqliteStore, agent: &Agent) -> Result<(), Error> {
    let commit = Commit::new(agent.created).write(Write::NewAgent(agent.clone()));
    store.commit(commit).await.map(drop)
}

async fn is_there(store: &SqliteStore, id: AgentId) -> bool {
    store.agent(&Scope::All, id).await.unwrap().is_some()
}

/// Asserts that nothing is written during the outage, and everything once it is over.
async fn assert_recovers_from(
    store: &SqliteStore,
    begins: impl FnOnce(),
    is_expected: fn(&Error) -> bool,
    ends: impl FnOnce(),
) {
    let [before, meanwhile, after] = [large(), large(), large()];
    write(store, &before).await.unwrap();
    store.ready().await.unwrap();
    begins();
    for _ in 0..3 {
        let refused = write(store, &meanwhile).await.unwrap_err();
        assert!(refused.is_outage() && is_expected(&refused), "{refused:?}");
        let not_ready = store.ready().await.unwrap_err();
        assert!(not_ready.is_outage() && is_expected(&not_ready), "{not_ready:?}");
    }
    assert!(is_there(store, before.id).await && !is_there(store, meanwhile.id).await);
    ends();
    store.ready().await.unwrap();
    write(store, &meanwhile).await.unwrap();
    write(store, &after).await.unwrap();
    for agent in [before, meanwhile, after] {
        assert!(is_there(store, agent.id).await);
    }
}

/// Leaves room for this many more pages; without limit if none is given.
fn leave_pages(store: &SqliteStore, pages: Option<u32>) {
    store.database.writer.on_connection(|connection| {
        let now: u32 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        let most = pages.map_or(u32::MAX - 2, |pages| now + pages);
        connection.pragma_update_and_check(None, "max_page_count", most, |_| Ok(())).unwrap();
    });
}

#[tokio::test]
async fn the_store_recovers_from_a_full_disk_once_space_is_freed() {
    for durability in [Durability::Full, Durability::Normal] {
        let (_directory, store) = open(durability);
        let is_full = |error: &Error| matches!(error, Error::DiskFull(_));
        assert_recovers_from(&store, || leave_pages(&store, Some(2)), is_full, || leave_pages(&store, None))
            .await;
    }
}

/// What the writer caches of agents equals what is stored, even after the transaction that changed them was
/// rolled back.
#[tokio::test]
async fn a_rolled_back_status_change_is_reported_when_it_is_repeated() {
    let (_directory, store) = open(Durability::Full);
    let root = Agent::root(Owner::local(), "helper", "", Time::from_micros(0));
    write(&store, &root).await.unwrap();
    let mut agent = store.claim(root.id, 0).await.unwrap().unwrap().agent;
    (agent.status, agent.waiting_on) = (Status::Waiting, Some(WaitingOn::User));
    let child = agent.child("helper", "x".repeat(1_000_000), None, agent.created);
    let commit = Commit::fenced(&agent, agent.created)
        .write(Write::Agent(agent.clone()))
        .write(Write::NewAgent(child));
    leave_pages(&store, Some(2));
    assert!(matches!(store.commit(commit.clone()).await, Err(Error::DiskFull(_))));
    leave_pages(&store, None);
    store.commit(commit).await.unwrap();
    let events = store.events(&Scope::All, root.id, 0, 100).await.unwrap();
    let waits = |event: &&Event| matches!(event.body, EventBody::AgentStatus { status: Status::Waiting, .. });
    assert_eq!(events.iter().filter(waits).count(), 1, "{events:?}");
}

/// The activation that has claimed the agent continues under its epoch.
#[tokio::test]
async fn an_agent_whose_pruning_was_rolled_back_keeps_its_epoch() {
    let (_directory, store) = open(Durability::Full);
    let root = Agent::root(Owner::local(), "helper", "", Time::from_micros(0));
    write(&store, &root).await.unwrap();
    let agent = store.claim(root.id, 0).await.unwrap().unwrap().agent;
    let forget = Commit::new(root.created).write(Write::PruneAgent(root.id)).write(Write::NewAgent(large()));
    leave_pages(&store, Some(2));
    assert!(matches!(store.commit(forget).await, Err(Error::DiskFull(_))));
    leave_pages(&store, None);
    store.commit(Commit::fenced(&agent, agent.created).write(Write::Agent(agent.clone()))).await.unwrap();
}

#[tokio::test]
async fn the_store_recovers_once_another_program_releases_the_file() {
    for durability in [Durability::Full, Durability::Normal] {
        let (directory, store) = open(durability);
        let other = Connection::open(directory.path().join("entourage.db")).unwrap();
        let is_expected = |error: &Error| matches!(error, Error::Unavailable { cause, .. } if cause.contains("another program"));
        let hold = || other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_recovers_from(&store, hold, is_expected, || other.execute_batch("ROLLBACK").unwrap()).await;
    }
}

#[tokio::test]
async fn a_commit_waits_while_another_program_holds_the_file() {
    const HALF_A_SECOND: Duration = Duration::from_millis(500);
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    for durability in [Durability::Full, Durability::Normal] {
        let store = SqliteStore::open(&path, Settings { durability, ..Settings::default() }).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let agent = large();
        let mut written = pin!(write(&store, &agent));
        // A caller that may write at once tries that first, and then leaves the commit to the writer's
        // thread.
        for _ in 0..3 {
            assert!(written.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        let begun = Instant::now();
        while store.database.writer.under_way().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(30), "no commit is under way");
            thread::yield_now();
        }
        thread::sleep(HALF_A_SECOND);
        let waited = store.database.writer.under_way();
        assert!(waited.is_some_and(|waited| waited >= HALF_A_SECOND), "{durability:?}: {waited:?}");
        other.execute_batch("COMMIT").unwrap();
        written.await.unwrap();
        assert!(is_there(&store, agent.id).await);
    }
}

#[test]
fn the_durability_sets_how_commits_are_synced() {
    for (durability, synchronous) in [(Durability::Full, 2), (Durability::Normal, 1)] {
        let (_directory, store) = open(durability);
        store.database.writer.on_connection(|connection| {
            let found: u32 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
            assert_eq!(found, synchronous, "{durability:?}");
            let journal: String =
                connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
            assert_eq!(journal, "wal");
        });
    }
}

/// Writes 100 MB; without merging, the log would be as long.
#[tokio::test]
async fn the_write_ahead_log_is_merged_between_small_commits() {
    let (directory, store) = open(Durability::Normal);
    let title = "x".repeat(64 << 10);
    let mut agent = Agent::root(Owner::local(), "helper", "", Time::from_micros(0));
    write(&store, &agent).await.unwrap();
    agent = store.claim(agent.id, 0).await.unwrap().unwrap().agent;
    agent.title = title;
    for _ in 0..1_600 {
        let commit = Commit::fenced(&agent, agent.created).write(Write::Agent(agent.clone()));
        store.commit(commit).await.unwrap();
    }
    let log = std::fs::metadata(directory.path().join("entourage.db-wal")).unwrap().len();
    assert!(log < 60 << 20, "{} MB", log >> 20);
}

#[tokio::test]
async fn the_store_recovers_once_a_read_only_file_is_writable() {
    for durability in [Durability::Full, Durability::Normal] {
        let (_directory, store) = open(durability);
        let is_expected =
            |error: &Error| matches!(error, Error::Unavailable { cause, .. } if cause.contains("read-only"));
        let set = |only: bool| {
            store
                .database
                .writer
                .on_connection(|connection| connection.pragma_update(None, "query_only", only).unwrap());
        };
        assert_recovers_from(&store, || set(true), is_expected, || set(false)).await;
    }
}

/// What was written to a file that is gone would be lost, too.
#[tokio::test]
async fn a_removed_or_replaced_file_accepts_no_commit_until_it_is_back() {
    for replaced in [false, true] {
        let (directory, store) = open(Durability::Full);
        let (path, aside) = (directory.path().join("entourage.db"), directory.path().join("aside.db"));
        let agent = large();
        write(&store, &agent).await.unwrap();
        store.ready().await.unwrap();
        std::fs::rename(&path, &aside).unwrap();
        if replaced {
            std::fs::copy(&aside, &path).unwrap();
        }
        store.database.writer.doubt_file();
        let is_told = |error: &Error| matches!(error, Error::Unavailable { cause, .. } if cause.contains("removed, moved or replaced"));
        for _ in 0..2 {
            let (refused, not_ready) =
                (write(&store, &large()).await.unwrap_err(), store.ready().await.unwrap_err());
            assert!(is_told(&refused) && is_told(&not_ready), "{refused:?} {not_ready:?}");
        }
        std::fs::rename(&aside, &path).unwrap();
        store.ready().await.unwrap();
        let after = large();
        write(&store, &after).await.unwrap();
        assert!(is_there(&store, agent.id).await && is_there(&store, after.id).await);
    }
}
