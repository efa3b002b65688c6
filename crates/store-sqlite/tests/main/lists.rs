//! Lists read no page of the texts of their records: they go on where those pages are damaged.

use std::fs;

use entourage_store::{Commit, EntityQuery, Store, Write};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_types::{Agent, Entity, Note, NoteId, Owner, Record, Scope, Time};
use tempfile::TempDir;

const AT: Time = Time::from_micros(1_795_292_000_000_000);
/// The page size of the database.
const PAGE: usize = 4096;
/// What the texts consist of.
const FILLER: u8 = b'x';

#[tokio::test]
async fn a_list_without_texts_reads_none_of_their_pages() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let root = Agent::root(Owner::local(), "helper", "garden", AT);
    store.commit(Commit::new(AT).write(Write::NewAgent(root.clone()))).await.unwrap();
    for _ in 0..3 {
        let note = Note {
            id: NoteId::new(),
            owner: root.owner.clone(),
            root: root.id,
            agent: root.id,
            title: "short".to_owned(),
            content: "Its text is long.".to_owned(),
            created: AT,
        };
        let text = String::from_utf8(vec![FILLER; 100 * PAGE]).unwrap();
        let entity = Entity { text: Some(text), ..note.entity().unwrap() };
        store.commit(Commit::new(AT).write(Write::entity(entity))).await.unwrap();
    }
    drop(store);

    // The pages that hold nothing but text, of which each begins with the number of the next.
    let mut file = fs::read(&path).unwrap();
    let mut damaged = 0;
    for page in file.chunks_mut(PAGE).filter(|page| page[4..].iter().all(|byte| *byte == FILLER)) {
        page[..4].copy_from_slice(&[0xff; 4]);
        damaged += 1;
    }
    assert!(damaged > 3 * 90, "{damaged}");
    fs::write(&path, file).unwrap();

    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let list = |with_texts| {
        let query = EntityQuery { with_texts, ..EntityQuery::records::<Note>() };
        store.entities(&Scope::All, query)
    };
    assert_eq!(list(false).await.unwrap().len(), 3);
    list(true).await.unwrap_err();
}
