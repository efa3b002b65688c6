//! The sums over the agents of a branch, as earlier versions kept them.

use entourage_store::Store;
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_types::{AgentId, Scope};
use rusqlite::params;
use tempfile::TempDir;

use crate::older::of_version;

/// Usage of one hour as a run stores it.
fn spent(calls: u64) -> String {
    format!(
        r#"[{{"day":"2026-11-21","model":"m","calls":{calls},"unpriced":0,"usage":{{"input":{calls},"output":0,
            "cached":0,"cache_written":0,"reasoning":0}},"cost":{calls}}}]"#
    )
}

/// Version 31 kept what the agents below one used, and added up its own runs.
#[tokio::test]
async fn what_an_agent_used_before_is_in_its_row_afterwards() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let older = of_version(&path, 31);
    let ids: [AgentId; 4] = std::array::from_fn(|_| AgentId::new());
    let [root, child, below, idle] = ids;
    let agents = [(root, None, 3), (child, Some(root), 20), (below, Some(child), 100), (idle, Some(root), 0)];
    for (depth, (id, parent, calls)) in (0_i64..).zip(&agents) {
        older
            .execute(
                "INSERT INTO agents (id, owner, root, parent, depth, kind, title, status, epoch, session, created, \
                 updated) VALUES (?1, 'local', ?2, ?3, ?4, 'helper', '', 'succeeded', 1, 1, 0, 0)",
                params![id.to_string(), root.to_string(), parent.map(|parent| parent.to_string()), depth],
            )
            .unwrap();
        // Two runs, of which one used all.
        for (nth, spent) in [spent(*calls), "[]".to_owned()].iter().enumerate().filter(|_| *calls > 0) {
            older
                .execute(
                    "INSERT INTO runs (id, agent, owner, status, kind_version, tasks, model_calls, worked_ms, \
                     input_tokens, output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, \
                     cost_nanos, started, spent) \
                     VALUES (?1, ?2, 'local', 'succeeded', '', '[]', 0, 0, 0, 0, 0, 0, 0, 0, 0, ?3)",
                    params![format!("run_{id}_{nth}"), id.to_string(), spent],
                )
                .unwrap();
        }
    }
    for (id, succeeded, used) in [(root, 3, 120), (child, 1, 100)] {
        older
            .execute(
                "INSERT INTO subtrees SELECT n, 0, 0, 0, 0, ?2, 0, 0, 0, 0, ?3, 0, ?3, 0, 0, 0, 0, ?3 \
                 FROM agents WHERE id = ?1",
                params![id.to_string(), succeeded, used],
            )
            .unwrap();
    }
    drop(older);
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let sums = store.subtrees(&Scope::All, &ids).await.unwrap();
    let used: Vec<_> = sums
        .iter()
        .map(|(id, sums)| (*id, sums.used.calls, sums.used.usage.input, sums.used.cost.nanos()))
        .collect();
    assert_eq!(
        used,
        [(root, 123, 123, 123), (child, 120, 120, 120), (below, 100, 100, 100), (idle, 0, 0, 0)]
    );
}
