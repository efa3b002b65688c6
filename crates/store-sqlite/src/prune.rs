//! Forgetting: events from the beginning of a tree on, and agents with all that is theirs.

use entourage_types::{AgentId, EntityKind, Time};
use rusqlite::{Connection, params};

use crate::{events::Tree, fault::Result, rows::word};

/// Whether anybody in a tree is at work, waits, has something to read or to wake for, or has changed since.
pub(crate) fn stirs(connection: &Connection, root: AgentId, since: Time) -> Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM agents WHERE root = ?1 AND (status IN ('queued', 'running', 'waiting') \
         OR updated > ?2 OR EXISTS (SELECT 1 FROM inbox WHERE inbox.agent = agents.id) \
         OR EXISTS (SELECT 1 FROM wakeups WHERE wakeups.agent = agents.id))",
    )?;
    Ok(statement.exists(params![root.to_string(), since.micros()])?)
}

/// The agents that cannot be without this one: its children, and those of its tree.
pub(crate) fn dependents(connection: &Connection, agent: AgentId) -> Result<Vec<AgentId>> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM agents WHERE parent = ?1 UNION SELECT id FROM agents WHERE root = ?1 AND id <> ?1",
    )?;
    let dependents = statement.query_map([agent.to_string()], |row| word(row, 0))?;
    Ok(dependents.collect::<rusqlite::Result<_>>()?)
}

/// Forgets the events of a tree below a number, all but the last.
pub(crate) fn events(connection: &Connection, root: AgentId, below: u64) -> Result<()> {
    let Some(tree) = Tree::of(connection, root)? else { return Ok(()) };
    let mut statement = connection.prepare_cached(
        "DELETE FROM events WHERE n > ?1 AND n < min(?2, (SELECT max(n) FROM events WHERE n <= ?3))",
    )?;
    statement.execute([tree.key(0), tree.key(below), tree.key(u64::MAX)])?;
    Ok(())
}

/// Forgets an entity that belongs to no tree.
pub(crate) fn entity(connection: &Connection, kind: EntityKind, id: &str) -> Result<()> {
    let mut statement =
        connection.prepare_cached("DELETE FROM entities WHERE kind = ?1 AND id = ?2 AND root IS NULL")?;
    statement.execute([kind.as_str(), id])?;
    Ok(())
}

/// Forgets an agent with all that is its own; of a root, all that is the tree's.
pub(crate) fn agent(connection: &Connection, agent: AgentId) -> Result<()> {
    let id = agent.to_string();
    for of_agent in [
        "DELETE FROM items WHERE agent = ?1",
        "DELETE FROM steps WHERE run IN (SELECT id FROM runs WHERE agent = ?1)",
        "DELETE FROM runs WHERE agent = ?1",
        "DELETE FROM inbox WHERE agent = ?1",
        "DELETE FROM wakeups WHERE agent = ?1",
        // The events of its tree go with it.
        "DELETE FROM agents WHERE id = ?1",
    ] {
        connection.prepare_cached(of_agent)?.execute([&id])?;
    }
    // Their index goes by kind first.
    for kind in EntityKind::WORDS {
        let mut of_tree = connection.prepare_cached("DELETE FROM entities WHERE kind = ?1 AND root = ?2")?;
        of_tree.execute([*kind, id.as_str()])?;
    }
    Ok(())
}
