//! Copies taken while others write: each is one whole snapshot, and no writer waits for it.

use std::{fs, path::Path, sync::Arc};

use entourage_store::Error;
use entourage_store_sqlite::{Settings, SqliteStore, VERSION, copy};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::author::{Author, assert_whole};
use crate::older::of_version;

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Settings::default()).unwrap()
}

fn names(directory: &TempDir) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("entourage.db"))
        .collect();
    names.sort();
    names
}

/// 32 authors write, another connection reads, and copies are taken: none of them finds the database busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_taken_during_writes_are_consistent_and_block_no_writer() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = Arc::new(open(&path));
    let authors: Vec<_> = (0..32)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut author = Author::begin(&store).await.unwrap();
                for _ in 0..40 {
                    author.say(&store, "busy").await.unwrap();
                }
            })
        })
        .collect();
    let place = directory.path().to_owned();
    let copier = tokio::task::spawn_blocking(move || {
        let from = place.join("entourage.db");
        for number in 0..4 {
            copy(&from, place.join(format!("copy-{number}.db")), |_| ()).unwrap();
            let stranger = Connection::open(&from).unwrap();
            stranger.query_row("SELECT count(*) FROM transcript", [], |_| Ok(())).unwrap();
        }
    });
    for author in authors {
        author.await.unwrap();
    }
    copier.await.unwrap();
    copy(&path, directory.path().join("last.db"), |_| ()).unwrap();
    assert_eq!(names(&directory), ["copy-0.db", "copy-1.db", "copy-2.db", "copy-3.db", "last.db"]);
    let mut before = 0;
    for number in 0..4 {
        let said = assert_whole(&open(&directory.path().join(format!("copy-{number}.db")))).await.unwrap();
        assert!(said >= before, "what was committed before is there");
        before = said;
    }
    let said = assert_whole(&open(&directory.path().join("last.db"))).await.unwrap();
    assert_eq!(said, assert_whole(&store).await.unwrap());
}

#[test]
fn a_copy_never_overwrites_a_file() {
    let directory = TempDir::new().unwrap();
    let (path, there) = (directory.path().join("entourage.db"), directory.path().join("there.db"));
    drop(open(&path));
    fs::write(&there, "a letter").unwrap();
    let refused = copy(&path, &there, |_| ()).unwrap_err();
    assert!(matches!(&refused, Error::Unusable { path, .. } if path.ends_with("there.db")), "{refused}");
    assert_eq!(fs::read(&there).unwrap(), b"a letter");
    for wrong in [directory.path().join("none/copy.db"), directory.path().to_owned()] {
        copy(&path, wrong, |_| ()).unwrap_err();
    }
    let nothing = copy(directory.path().join("none.db"), directory.path().join("copy.db"), |_| ());
    assert!(nothing.unwrap_err().to_string().contains("no database"));
    assert!(copy(&there, directory.path().join("copy.db"), |_| ()).is_err(), "a letter is no database");
    assert_eq!(names(&directory), ["there.db"], "nothing is left of what did not come about");
}

/// Before a program is upgraded, its database can be copied in the old version.
#[test]
fn a_copy_of_an_older_database_keeps_its_version() {
    let directory = TempDir::new().unwrap();
    let (path, old) = (directory.path().join("entourage.db"), directory.path().join("old.db"));
    let first = of_version(&path, 1);
    drop(first);
    copy(&path, &old, |_| ()).unwrap();
    drop(open(&path));
    assert_eq!(SqliteStore::version_of(&path).unwrap(), Some(VERSION));
    assert_eq!(SqliteStore::version_of(&old).unwrap(), Some(1));
    drop(open(&old));
}
