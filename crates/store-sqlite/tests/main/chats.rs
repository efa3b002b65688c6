//! Databases of versions in which the threads that people opened in a chat were children of its first agent.

use entourage_store::{AgentQuery, Store};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_types::{AgentId, Scope};
use rusqlite::params;
use tempfile::TempDir;

use crate::older::of_version;

/// The migration puts threads that people opened at the top of their chat, and what is below them one level
/// higher; agents that agents created stay where they are, in chats and elsewhere.
#[tokio::test]
async fn migration_from_version_6_moves_peoples_threads_to_the_top() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let id = std::array::from_fn::<AgentId, 9, _>(|_| AgentId::new());
    // Kind and key, with the numbers of parent and root.
    let rows: [(&str, Option<&str>, Option<usize>, usize); 9] = [
        ("ceo", Some("ceo<user"), None, 0),
        ("dev", Some("dev<ceo"), Some(0), 0),
        ("dev", Some("dev<ceo#2"), Some(0), 0),
        ("dev", Some("dev<user#2"), Some(0), 0),
        ("dev", Some("dev<ceo of ours"), Some(0), 0),
        ("qa", Some("qa<dev"), Some(3), 0),
        ("qa", None, Some(5), 0),
        ("assistant", None, None, 7),
        ("qa", Some("qa<user"), Some(7), 7),
    ];
    {
        let first = of_version(&path, 6);
        let mut depths: Vec<i64> = Vec::new();
        for (nth, (kind, key, parent, root)) in rows.iter().enumerate() {
            depths.push(parent.map_or(0, |parent| depths[parent] + 1));
            let sql = "INSERT INTO agents (id, owner, root, parent, depth, kind, key, title, status, epoch, \
                       session, created, updated) VALUES (?1, 'local', ?2, ?3, ?4, ?5, ?6, '', 'idle', 0, 1, 1, 1)";
            let parent = parent.map(|parent| id[parent].to_string());
            first
                .execute(
                    sql,
                    params![id[nth].to_string(), id[*root].to_string(), parent, depths[nth], kind, key],
                )
                .unwrap();
        }
    }
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let mut agents = store.agents(&Scope::All, AgentQuery::default()).await.unwrap();
    agents.sort_by_key(|agent| id.iter().position(|id| *id == agent.id));
    let stands: Vec<_> = agents
        .iter()
        .map(|agent| (agent.parent.and_then(|parent| id.iter().position(|id| *id == parent)), agent.depth))
        .collect();
    let expected = [
        (None, 0),
        (Some(0), 1),
        (Some(0), 1),
        (None, 0),
        (None, 0),
        (Some(3), 1),
        (Some(5), 2),
        (None, 0),
        (Some(7), 1),
    ];
    assert_eq!(stands, expected);
    assert!(agents[..7].iter().all(|agent| agent.root == id[0]), "their tree is the same");
}
