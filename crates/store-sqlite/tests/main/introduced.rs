//! Databases of the days on which a version was new: some of its migrations were changed afterwards, which
//! must not happen again, and the databases made before that are brought to the same schema.

use std::path::Path;

use entourage_store::{Commit, Store as _, Write};
use entourage_store_sqlite::{Settings, SqliteStore, VERSION};
use entourage_types::{Agent, AgentId, Owner, Scope, Time};
use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::older::{MIGRATIONS, insert_agent, of_version, with_migration};

/// The first eight bytes of the SHA-256 of each migration, in order. A new migration adds its own; none changes:
/// databases have been made with it.
const DIGESTS: [&str; 39] = [
    "eb8bfd70a485374a",
    "c75efce9a4dcdd2a",
    "6539b150d7b53223",
    "5d04b6a68d3abd3a",
    "c03a6ccde51b02dc",
    "baff7094d09db0d3",
    "9674f44e54b2b720",
    "a68dae0fbb7f3b91",
    "82eb0f8267dc35ef",
    "670124adfa9e49de",
    "3a2127f5076c29d8",
    "00d421196640cd79",
    "3ff6a13d23e19d63",
    "053d35f1b0423e7b",
    "7ffe03877146a5ec",
    "5642a66a6f8c52fd",
    "f62195d38a5e620e",
    "407a7ba2e0aa4eab",
    "ed9a809cddf5573a",
    "0b2855bea1b62132",
    "8370c7552e5eeae3",
    "b248a0af04bd31df",
    "ee7aa0dbbe57a5f0",
    "41e7d6cd733c4487",
    "61205ed47838bc11",
    "0fe8430cc1b57d51",
    "624a3dbebb1b2eef",
    "a333b926593d5d08",
    "a86e1bc803dc50b4",
    "868c8046b919820a",
    "4cc0f1eb2380994b",
    "8406b7ddf0ee7f7f",
    "13555587c3813b23",
    "ddee289c12a46d69",
    "97fb32839300ed82",
    "f21bfb3294d3666e",
    "cfebfd4dad14d25f",
    "572762df034a3395",
    "21abc5830889d7cc",
];

/// The migrations that were changed, by number, as they were when they came to the main branch, and the last
/// version of a database that was made with them.
const CHANGED: [(usize, usize, &str); 5] = [
    (8, 8, include_str!("introduced/0008.sql")),
    (12, 14, include_str!("introduced/0012.sql")),
    (16, 17, include_str!("introduced/0016.sql")),
    (20, 21, include_str!("introduced/0020.sql")),
    (20, 21, include_str!("introduced/0020_second.sql")),
];

/// Every table, index, trigger and view, with its SQL on one line.
fn schema(path: &Path) -> Vec<(String, String)> {
    let connection = Connection::open(path).unwrap();
    let mut statement =
        connection.prepare("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?))).unwrap();
    let on_a_line = |sql: String| sql.split_whitespace().collect::<Vec<_>>().join(" ");
    rows.map(|row| row.map(|(name, sql)| (name, on_a_line(sql))).unwrap()).collect()
}

/// The events of a removed tree were left for the tree that was given its number, while migration 12 had no
/// trigger for them.
#[tokio::test]
async fn events_left_behind_by_a_removed_tree_do_not_become_those_of_the_next() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let older = with_migration(&path, 14, 12, include_str!("introduced/0012.sql"));
    let (removed, kept) = (AgentId::new(), AgentId::new());
    for (number, agent) in [(1, kept), (2, removed)] {
        insert_agent(&older, agent);
        let sql = "INSERT INTO events (n, agent, at, item_seq) VALUES (?1 << 32 | 1, ?2, 0, 0)";
        older.execute(sql, params![number, agent.to_string()]).unwrap();
    }
    older.execute("DELETE FROM agents WHERE id = ?1", [removed.to_string()]).unwrap();
    let events = |file: &Connection| -> i64 {
        file.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(events(&older), 2, "no trigger removes them");
    drop(older);
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    assert_eq!(events(&Connection::open(&path).unwrap()), 1);
    let next = Agent::root(Owner::new("other"), "helper", "", Time::from_micros(1));
    store.commit(Commit::new(next.created).write(Write::NewAgent(next.clone()))).await.unwrap();
    let listed = store.events(&Scope::All, next.id, 0, 10).await.unwrap();
    assert_eq!(listed.iter().map(|event| (event.agent, event.seq)).collect::<Vec<_>>(), [(next.id, 1)]);
    assert_eq!(store.events(&Scope::All, kept, 0, 10).await.unwrap().len(), 1);
}

#[test]
fn no_migration_changes() {
    let digests = MIGRATIONS.map(|migration| {
        let digest = Sha256::digest(migration);
        digest[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    });
    assert_eq!(digests, DIGESTS);
}

#[test]
fn a_database_made_before_a_migration_was_changed_comes_to_the_same_schema() {
    let directory = TempDir::new().unwrap();
    let migrated = |name: &str| {
        let path = directory.path().join(name);
        drop(SqliteStore::open(&path, Settings::default()).unwrap());
        schema(&path)
    };
    let fresh = migrated("fresh.db");
    for version in 1..=VERSION as usize {
        let name = format!("{version}.db");
        drop(of_version(&directory.path().join(&name), version));
        assert_eq!(migrated(&name), fresh, "version {version}");
    }
    for (nth, (number, last, migration)) in CHANGED.into_iter().enumerate() {
        for version in number..=last {
            let name = format!("{nth}-{version}.db");
            drop(with_migration(&directory.path().join(&name), version, number, migration));
            assert_eq!(migrated(&name), fresh, "version {version}, with an earlier migration {number}");
        }
    }
}
