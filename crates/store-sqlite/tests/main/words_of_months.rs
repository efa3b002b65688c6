//! The index of words, which also has the month in which each record last changed: of earlier versions, and after writes.

use std::path::Path;

use entourage_store::{Commit, Page, RecordFilter, Store, Write};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_types::{Agent, Note, NoteId, Owner, Record as _, Scope, Time};
use rusqlite::{Connection, params};
use tempfile::TempDir;

use crate::older::of_version;

/// The moment at which a day begins, counted from one in 2026.
const fn day(number: i64) -> Time {
    Time::from_micros((20_500 + number) * 24 * 60 * 60 * 1_000_000)
}

fn note(agent: &Agent, changed: i64, content: &str) -> Note {
    Note {
        id: NoteId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        title: "Trains".to_owned(),
        content: content.to_owned(),
        created: day(changed),
    }
}

/// The notes with the word since a day, the newest first.
async fn since(store: &dyn Store, from: i64) -> Vec<NoteId> {
    let page = Page { newest_first: true, ..Page::default() };
    let words = Some("trains".to_owned());
    let filter = RecordFilter::<Note> { words, since: Some(day(from)), page, ..RecordFilter::default() };
    let found = store.records(&Scope::from(&Owner::local()), filter).await.unwrap();
    found.into_iter().map(|note| note.id).collect()
}

/// Whether the index of words says what the rows say.
fn assert_is_right(path: &Path) {
    let file = Connection::open(path).unwrap();
    // The check compares with the table that has the texts if its rank is not 0.
    file.execute("INSERT INTO entity_text (entity_text, rank) VALUES ('integrity-check', 1)", []).unwrap();
}

#[tokio::test]
async fn records_of_an_earlier_version_are_found_by_words_since_a_time() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let agent = Agent::root(Owner::local(), "helper", "", day(0));
    let notes = [0, 45, 400].map(|changed| note(&agent, changed, "They leave at noon."));
    let older = of_version(&path, 37);
    for note in &notes {
        let row = note.entity().unwrap();
        let sql = "INSERT INTO entities (kind, id, owner, root, parent, status, created, updated, text, body) \
                   VALUES ('note', ?1, 'local', ?2, ?2, ?3, ?4, ?4, ?5, ?6)";
        let (root, at) = (agent.id.to_string(), note.created.micros());
        older.execute(sql, params![row.id, root, row.status, at, row.text, row.body]).unwrap();
    }
    drop(older);
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    for (from, expected) in [(0, &[2, 1, 0][..]), (1, &[2, 1]), (46, &[2]), (400, &[2]), (401, &[])] {
        let expected: Vec<NoteId> = expected.iter().map(|nth: &usize| notes[*nth].id).collect();
        assert_eq!(since(&store, from).await, expected, "since day {from}");
    }
    drop(store);
    assert_is_right(&path);
}

#[tokio::test]
async fn whatever_is_written_the_index_of_words_says_what_the_rows_say() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let agent = Agent::root(Owner::local(), "helper", "", day(0));
    let notes = [0, 1, 2, 3].map(|changed| note(&agent, changed, "They leave at noon."));
    let mut commit = Commit::new(day(3)).write(Write::NewAgent(agent.clone()));
    for note in &notes {
        commit.push(Write::record(note).unwrap());
    }
    store.commit(commit).await.unwrap();
    let changed = |nth: usize, on, content: &str| {
        let note = Note { created: day(on), content: content.to_owned(), ..notes[nth].clone() };
        Write::record(&note).unwrap()
    };
    let removed = |nth: usize| Write::PruneEntity(Note::KIND, notes[nth].id.to_string());
    for write in [
        // Another month, another text, both, and back again.
        changed(0, 90, "They leave at noon."),
        changed(1, 1, "They leave at one."),
        changed(2, 90, "They leave at one."),
        changed(0, 0, "They leave at noon."),
        removed(2),
        removed(3),
    ] {
        store.commit(Commit::new(day(90)).write(write)).await.unwrap();
        assert_is_right(&path);
    }
    assert_eq!(since(&store, 0).await, [notes[1].id, notes[0].id]);
    store.commit(Commit::new(day(91)).write(Write::PruneAgent(agent.id))).await.unwrap();
    assert_eq!(since(&store, 0).await, []);
    drop(store);
    assert_is_right(&path);
}
