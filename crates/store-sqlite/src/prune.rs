//! Removes the oldest events of a tree, and agents with everything that belongs to them.

use entourage_store::Forgotten;
use entourage_types::{AgentId, EntityKind, Time};
use rusqlite::{Connection, params};

use crate::{
    budgets,
    fault::Result,
    key_range::KeyRange,
    rows::{json, word, word_if_any},
};

/// Whether any agent in a tree is queued, running or waiting, has posts or wake-ups, or has changed after
/// this time.
pub(crate) fn is_active_since(connection: &Connection, root: AgentId, since: Time) -> Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM agents WHERE root = ?1 AND (status IN ('queued', 'running', 'waiting') \
         OR updated > ?2 OR EXISTS (SELECT 1 FROM inbox WHERE inbox.agent = agents.id) \
         OR EXISTS (SELECT 1 FROM wakeups WHERE wakeups.agent = agents.id))",
    )?;
    Ok(statement.exists(params![root.to_string(), since.micros()])?)
}

/// Returns the agents that cannot exist without this one: its children, and all others of its tree if it is
/// the root.
pub(crate) fn dependents(connection: &Connection, agent: AgentId) -> Result<Vec<AgentId>> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM agents WHERE parent = ?1 UNION SELECT id FROM agents WHERE root = ?1 AND id <> ?1",
    )?;
    let dependents = statement.query_map([agent.to_string()], |row| word(row, 0))?;
    Ok(dependents.collect::<rusqlite::Result<_>>()?)
}

/// Removes the events of a tree below a number, except the last event.
pub(crate) fn events(connection: &Connection, root: AgentId, below: u64) -> Result<()> {
    let Some(tree) = KeyRange::of(connection, root)? else { return Ok(()) };
    let mut statement = connection.prepare_cached(
        "DELETE FROM events WHERE n > ?1 AND n < min(?2, (SELECT max(n) FROM events WHERE n <= ?3))",
    )?;
    statement.execute([tree.key(0), tree.key(below), tree.key(u64::MAX)])?;
    Ok(())
}

/// Takes the texts out of the events about what a commit forgets. Reads each of its trees' events once.
pub(crate) fn forget(connection: &Connection, forgotten: &Forgotten) -> Result<()> {
    for root in forgotten.roots() {
        let Some(tree) = KeyRange::of(connection, root)? else { continue };
        let mut events = connection
            .prepare_cached("SELECT n, agent, body FROM events WHERE n > ?1 AND n <= ?2 AND body NOT NULL")?;
        let mut rows = events.query([tree.key(0), tree.key(u64::MAX)])?;
        let mut left: Vec<(i64, String)> = Vec::new();
        while let Some(row) = rows.next()? {
            if let Some(body) = forgotten.left_of(word(row, 1)?, &json(row, 2)?) {
                left.push((row.get(0)?, serde_json::to_string(&body)?));
            }
        }
        let mut tell = connection.prepare_cached("UPDATE events SET body = ?2 WHERE n = ?1")?;
        for (n, body) in left {
            tell.execute(params![n, body])?;
        }
    }
    Ok(())
}

/// Removes a record with all records that belong to it.
pub(crate) fn entity(
    connection: &Connection,
    (kind, id): (EntityKind, &str),
    forgotten: &mut Forgotten,
) -> Result<()> {
    let own = [kind.as_str(), id];
    below(connection, "SELECT n, kind, id FROM entities WHERE kind = ?1 AND id = ?2", own, forgotten)?;
    remove(
        connection,
        "DELETE FROM entities WHERE kind = ?1 AND id = ?2 RETURNING kind, id, root",
        own,
        forgotten,
    )
}

/// Removes the records that belong to those that a query selects, and what belongs to these in turn; not those
/// themselves.
fn below(connection: &Connection, those: &str, values: [&str; 2], forgotten: &mut Forgotten) -> Result<()> {
    let removes = format!(
        "WITH RECURSIVE top (n, kind, id) AS ({those}), below (n, kind, id) AS (SELECT n, kind, id FROM top UNION \
         SELECT entities.n, entities.kind, entities.id FROM below CROSS JOIN entities INDEXED BY entities_of_record \
         ON instr(entities.parent, '/') > 0 AND entities.parent = below.kind || '/' || below.id) \
         DELETE FROM entities WHERE n IN (SELECT n FROM below) AND n NOT IN (SELECT n FROM top) RETURNING kind, id, root"
    );
    remove(connection, &removes, values, forgotten)
}

/// Removes records by a statement that returns noun, id and tree of each.
fn remove(
    connection: &Connection,
    removes: &str,
    values: [&str; 2],
    forgotten: &mut Forgotten,
) -> Result<()> {
    let mut statement = connection.prepare_cached(removes)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        forgotten.removed(word(row, 0)?, row.get(1)?, word_if_any(row, 2)?);
    }
    Ok(())
}

/// Removes an agent with everything that belongs to it; with a root, everything that belongs to the tree.
pub(crate) fn agent(connection: &Connection, agent: AgentId, forgotten: &mut Forgotten) -> Result<()> {
    let id = agent.to_string();
    budgets::prune(connection, agent)?;
    for of_agent in [
        "DELETE FROM steps WHERE run IN (SELECT id FROM runs WHERE agent = ?1)",
        "DELETE FROM runs WHERE agent = ?1",
        "DELETE FROM inbox WHERE agent = ?1",
        "DELETE FROM wakeups WHERE agent = ?1",
        // Triggers remove its items and the events of its tree with it.
        "DELETE FROM agents WHERE id = ?1",
    ] {
        connection.prepare_cached(of_agent)?.execute([&id])?;
    }
    // The indexes of entities by tree and by agent begin with the kind.
    for (those, removes) in [
        (
            "SELECT n, kind, id FROM entities WHERE kind = ?1 AND root = ?2",
            "DELETE FROM entities WHERE kind = ?1 AND root = ?2 RETURNING kind, id, root",
        ),
        (
            "SELECT n, kind, id FROM entities WHERE kind = ?1 AND parent = ?2",
            "DELETE FROM entities WHERE kind = ?1 AND parent = ?2 RETURNING kind, id, root",
        ),
    ] {
        for kind in kinds(connection)? {
            below(connection, those, [&kind, &id], forgotten)?;
            remove(connection, removes, [&kind, &id], forgotten)?;
        }
    }
    Ok(())
}

/// The nouns that there are records of: one step in the index for each.
fn kinds(connection: &Connection) -> Result<Vec<String>> {
    let mut each = connection.prepare_cached(
        "WITH RECURSIVE kinds (kind) AS (SELECT min(kind) FROM entities UNION ALL \
         SELECT (SELECT min(entities.kind) FROM entities WHERE entities.kind > kinds.kind) FROM kinds \
         WHERE kinds.kind IS NOT NULL) SELECT kind FROM kinds WHERE kind IS NOT NULL",
    )?;
    let found = each.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(found)
}
