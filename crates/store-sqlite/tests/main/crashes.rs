//! Crashes: at whatever instant the files are copied, they open, and every commit is in them as a whole or
//! not at all; those that had returned are in them.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use entourage_store::{Error, Store};
use entourage_store_sqlite::{Durability, Settings, SqliteStore};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::author::{Author, assert_whole};

/// The environment variable of the child process that will be killed: the path of its database.
const VICTIM: &str = "ENTOURAGE_TEST_VICTIM";

fn open(path: &Path) -> Result<SqliteStore, Error> {
    SqliteStore::open(path, Settings::default())
}

/// Copies a database as a loss of power would leave it: the file, and the log up to some byte.
fn copy(from: &Path, to: &Path, log: Option<u64>) {
    fs::copy(from, to).unwrap();
    let log_of = |path: &Path| path.with_extension("db-wal");
    fs::copy(log_of(from), log_of(to)).unwrap();
    if let Some(length) = log {
        fs::OpenOptions::new().write(true).open(log_of(to)).unwrap().set_len(length).unwrap();
    }
}

async fn commits_in(path: &Path) -> usize {
    let store = open(path).unwrap();
    let commits = assert_whole(&store).await.unwrap();
    drop(store);
    let found: String =
        Connection::open(path).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
    commits
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_the_files_taken_during_writes_is_consistent() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = Arc::new(open(&path).unwrap());
    let (returned, mut commits) = mpsc::unbounded_channel();
    let authors: Vec<_> = (0..4)
        .map(|_| {
            let (store, returned) = (Arc::clone(&store), returned.clone());
            tokio::spawn(async move {
                let mut author = Author::begin(&store).await.unwrap();
                for number in 0..20 {
                    author.say(&store, "busy").await.unwrap();
                    returned.send(number).unwrap();
                }
            })
        })
        .collect();
    drop(returned);
    let mut copies = Vec::new();
    while let Some(number) = commits.recv().await {
        if number % 8 == 0 {
            let to = directory.path().join(format!("{}.db", copies.len()));
            copy(&path, &to, None);
            copies.push(to);
        }
    }
    for author in authors {
        author.await.unwrap();
    }
    let mut before = 0;
    for path in copies {
        let commits = commits_in(&path).await;
        assert!(commits >= before, "a later copy has less");
        before = commits;
    }
    assert_eq!(assert_whole(&store).await.unwrap(), 80);
}

#[tokio::test]
async fn a_log_truncated_anywhere_opens_with_the_commits_before_the_cut() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = open(&path).unwrap();
    let mut author = Author::begin(&store).await.unwrap();
    for _ in 0..10 {
        author.say(&store, "one").await.unwrap();
    }
    let length = fs::metadata(path.with_extension("db-wal")).unwrap().len();
    let mut seen = Vec::new();
    for part in 0..16 {
        let to = directory.path().join(format!("{part}.db"));
        // The cut falls inside a frame as often as between two.
        copy(&path, &to, Some(length - part * length / 40 - part));
        seen.push(commits_in(&to).await);
    }
    assert_eq!(seen[0], 10);
    assert!(seen.is_sorted_by(|later, earlier| later >= earlier), "{seen:?}");
    assert!(seen[15] < 10, "the cuts reach into the commits: {seen:?}");
}

#[tokio::test]
async fn a_killed_process_loses_no_returned_commit_and_frees_the_database() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crashes::child_process_that_is_killed", "--nocapture"])
        .env(VICTIM, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("said ").and_then(|number| number.parse::<usize>().ok()));
    assert!(said.by_ref().any(|number| number >= 30), "the child ended early");

    let refused = open(&path).err().expect("the child holds the database");
    assert!(matches!(refused, Error::InUse { .. }), "{refused:?}");
    assert!(refused.to_string().contains(&format!("pid {}", child.id())), "{refused}");

    child.kill().unwrap();
    child.wait().unwrap();
    let returned = said.last().unwrap_or(30);
    assert!(commits_in(&path).await >= returned);
}

/// The process that the test above kills; without the path of a database it does nothing.
#[tokio::test]
async fn child_process_that_is_killed() {
    let Some(path) = std::env::var_os(VICTIM) else { return };
    let store = open(Path::new(&path)).unwrap();
    let mut author = Author::begin(&store).await.unwrap();
    for number in 1.. {
        author.say(&store, "still here").await.unwrap();
        println!("said {number}");
    }
}

#[tokio::test]
async fn an_abandoned_commit_is_written_without_another_commit() {
    let directory = TempDir::new().unwrap();
    let settings = Settings { durability: Durability::Normal, ..Settings::default() };
    let store = SqliteStore::open(directory.path().join("entourage.db"), settings).unwrap();
    let mut author = Author::begin(&store).await.unwrap();
    let mut changed = store.changed();
    tokio::select! {
        biased;
        said = author.say(&store, "Never mind.") => panic!("it did not wait for others: {said:?}"),
        () = std::future::ready(()) => {}
    }
    tokio::time::timeout(Duration::from_secs(30), changed.recv()).await.expect("it is written").unwrap();
    assert_eq!(assert_whole(&store).await.unwrap(), 1);
}
