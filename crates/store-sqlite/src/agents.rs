//! Agents.

use entourage_store::{AgentQuery, words::title_words};
use entourage_types::{Agent, AgentId, Epoch, Owner, Scope, ShownStatus, Status, Time};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use crate::{
    fault::Result,
    rows::{count, int, time, word, word_if_any},
    select::{Partial, Select},
};

/// The number of items is computed from the items and stored nowhere else.
pub(crate) const COLUMNS: &str = "id, owner, root, parent, depth, kind, key, title, status, waiting_on, epoch, session, \
                       (SELECT coalesce((max(items.n) & 4294967295) + 1, 0) FROM items \
                       WHERE items.n >= agents.n << 32 AND items.n <= agents.n << 32 | 4294967295), \
                       created, updated, stop_reason, works_for";

const OPEN: Partial =
    Partial { index: "open_agents", holds: "status = 'queued' OR status = 'running' OR status = 'waiting'" };
const ENDED: Partial = Partial {
    index: "ended_agents",
    holds: "status <> 'idle' AND status <> 'queued' AND status <> 'running' AND status <> 'waiting'",
};
const ROOTS_OF_KIND: Partial = Partial { index: "roots_of_kind", holds: "parent IS NULL" };

/// The inbox table is short, because few agents have posts.
const UNREAD: &str = "agents.id IN (SELECT agent FROM inbox)";
/// The cross join keeps SQLite from going through the agents instead.
const OR_UNREAD: &str =
    "UNION ALL SELECT read.n FROM inbox CROSS JOIN agents AS read ON read.id = inbox.agent";
/// A schedule wakes an agent for its trigger, not for what it has to do.
const UNWOKEN: &str =
    "NOT EXISTS (SELECT 1 FROM wakeups WHERE wakeups.agent = agents.id AND wakeups.schedule IS NULL)";

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Agent> {
    Ok(Agent {
        id: word(row, 0)?,
        owner: Owner::new(row.get::<_, String>(1)?),
        root: word(row, 2)?,
        parent: word_if_any(row, 3)?,
        works_for: word(row, 16)?,
        depth: row.get(4)?,
        kind: row.get(5)?,
        key: word_if_any(row, 6)?,
        title: row.get(7)?,
        status: word(row, 8)?,
        waiting_on: word_if_any(row, 9)?,
        stop_reason: word_if_any(row, 15)?,
        epoch: count(row, 10)?.into(),
        session: row.get(11)?,
        items: count(row, 12)?,
        created: time(row, 13)?,
        updated: time(row, 14)?,
    })
}

/// Returns the agent, whatever its owner.
pub(crate) fn get(connection: &Connection, id: AgentId) -> Result<Option<Agent>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, owner, root, parent, depth, kind, key, title, status, waiting_on, epoch, session, \
         (SELECT coalesce((max(items.n) & 4294967295) + 1, 0) FROM items \
         WHERE items.n >= agents.n << 32 AND items.n <= agents.n << 32 | 4294967295), \
         created, updated, stop_reason, works_for FROM agents WHERE id = ?1",
    )?;
    Ok(statement.query_row([id.to_string()], read).optional()?)
}

/// Returns agents by query.
pub(crate) fn list(connection: &Connection, scope: &Scope, query: &AgentQuery) -> Result<Vec<Agent>> {
    select(scope, query).rows_within(query.page.bytes, connection, read)
}

/// The query behind [`list`].
pub(crate) fn select(scope: &Scope, query: &AgentQuery) -> Select {
    // What is active or has unread posts is little, and is found by that: the plus keeps SQLite from going through all
    // agents of an owner, of a tree or below another one.
    let are_few = query.unread || query.active;
    let [owner, root, parent] = match are_few {
        true => ["+owner", "+root = ?", "+parent = ?"],
        false => ["owner", "root = ?", "parent = ?"],
    };
    let select = Select::of_some(COLUMNS, "agents", partial(scope, query))
        .seen_by(scope, owner)
        .only(root, query.root)
        .only(parent, query.parent)
        .only("kind = ?", query.kind.as_deref())
        .only("key = ?", query.key.as_ref())
        .only("shown = ?", query.status.filter(|status| status.status().is_terminal()))
        .only("status = ?", query.status.filter(|status| !status.status().is_terminal()));
    let select = select.only("waiting_on = ?", query.waiting_on);
    let select = title_words(query.title.as_deref().unwrap_or_default()).fold(select, |select, word| {
        match word.contains('\0') {
            // A pattern ends at a NUL, and no title has one.
            true => select.and("agents.n < 0"),
            false => select.and("title LIKE ? ESCAPE '\\'").bind(containing(word)),
        }
    });
    let select = if query.roots { select.and("parent IS NULL") } else { select };
    let select = if query.unread { select.and(UNREAD) } else { select };
    let select = if query.unwoken { select.and(UNWOKEN) } else { select };
    let select = if query.active { active(select, scope) } else { select };
    if are_few {
        return select.page_of_few("agents", scope, &query.page);
    }
    select.page("agents", None, scope, &query.page)
}

/// Restricts a query to active agents.
fn active(select: Select, scope: &Scope) -> Select {
    let (index, of_owner) = match scope.owner() {
        Some(_) => ("active_agents", "owner = ? AND"),
        None => (OPEN.index, ""),
    };
    let open = format!("SELECT n FROM agents INDEXED BY {index} WHERE {of_owner} ({})", OPEN.holds);
    let select = select.and(&format!("status <> 'cancelled' AND agents.n IN ({open} {OR_UNREAD})"));
    match scope.owner() {
        Some(owner) => select.bind(owner.to_string()),
        None => select,
    }
}

/// The pattern for a text that contains this word.
fn containing(word: &str) -> String {
    let mut pattern = String::from("%");
    for c in word.chars() {
        if ['%', '_', '\\'].contains(&c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "%"
}

/// Returns the partial index that serves a query best, if one does.
fn partial(scope: &Scope, query: &AgentQuery) -> Option<Partial> {
    let by_other =
        query.root.is_some() || query.parent.is_some() || query.key.is_some() || query.unread || query.active;
    match query.status.map(ShownStatus::status) {
        _ if by_other => None,
        Some(Status::Queued | Status::Running | Status::Waiting) => Some(OPEN),
        Some(Status::Succeeded | Status::Failed | Status::Cancelled) => scope.owner().map(|_| ENDED),
        Some(Status::Idle) | None => {
            (query.roots && query.kind.is_some()).then_some(ROOTS_OF_KIND).filter(|_| scope.owner().is_some())
        }
    }
}

/// Whether the agent exists.
pub(crate) fn exists(connection: &Connection, id: AgentId) -> Result<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM agents WHERE id = ?1")?.exists([id.to_string()])?)
}

/// Returns the existing agent that a new one conflicts with: of the same id, or of the same key in the tree.
pub(crate) fn conflicting(connection: &Connection, new: &Agent) -> Result<Option<AgentId>> {
    if exists(connection, new.id)? {
        return Ok(Some(new.id));
    }
    let Some(key) = &new.key else { return Ok(None) };
    let mut statement = connection.prepare_cached("SELECT id FROM agents WHERE root = ?1 AND key = ?2")?;
    Ok(statement.query_row(params![new.root.to_string(), key.to_string()], |row| word(row, 0)).optional()?)
}

/// Writes whether an agent lives that is not a root. The row says it, so that a count of the living reads an index of
/// these alone.
pub(crate) fn set_living(connection: &Connection, id: AgentId, living: bool) -> Result<()> {
    let mut statement = connection
        .prepare_cached("UPDATE agents SET living = ?2 WHERE id = ?1 AND living <> ?2 AND id <> root")?;
    statement.execute(params![id.to_string(), living])?;
    Ok(())
}

/// Counts the living agents in the tree of this root beside the root itself.
pub(crate) fn count_living_beside(connection: &Connection, root: AgentId) -> Result<u32> {
    let mut statement = connection
        .prepare_cached("SELECT count(*) FROM agents WHERE root = ?1 AND living = 1 AND id <> root")?;
    Ok(statement.query_row([root.to_string()], |row| row.get(0))?)
}

/// Counts the living children of an agent in the tree of this root.
pub(crate) fn count_living_children(connection: &Connection, root: AgentId, parent: AgentId) -> Result<u32> {
    let mut statement = connection.prepare_cached(
        "SELECT count(*) FROM agents WHERE root = ?1 AND parent = ?2 AND living = 1 AND id <> root",
    )?;
    Ok(statement.query_row([root.to_string(), parent.to_string()], |row| row.get(0))?)
}

/// Counts the agents in the tree of this root that were created at this time or later: from the last one on, until
/// one is older.
pub(crate) fn count_created(connection: &Connection, root: AgentId, since: Time) -> Result<u32> {
    let mut statement =
        connection.prepare_cached("SELECT created FROM agents WHERE root = ?1 ORDER BY n DESC")?;
    let mut rows = statement.query([root.to_string()])?;
    let mut count = 0;
    while let Some(row) = rows.next()?
        && time(row, 0)? >= since
    {
        count += 1;
    }
    Ok(count)
}

/// Whether an agent has a child that was not deleted.
pub(crate) fn has_undeleted_child(connection: &Connection, parent: AgentId) -> Result<bool> {
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM agents WHERE parent = ?1 AND status <> 'cancelled'")?;
    Ok(statement.exists([parent.to_string()])?)
}

/// Returns the last agent that was created in the tree of this root, of those that are still there.
pub(crate) fn last_created(connection: &Connection, root: AgentId) -> Result<Option<AgentId>> {
    let mut statement =
        connection.prepare_cached("SELECT id FROM agents WHERE root = ?1 ORDER BY n DESC LIMIT 1")?;
    Ok(statement.query_row([root.to_string()], |row| word(row, 0)).optional()?)
}

/// Returns the row number of an agent; none if there is no such agent.
pub(crate) fn row(connection: &Connection, id: AgentId) -> Result<Option<i64>> {
    let mut statement = connection.prepare_cached("SELECT n FROM agents WHERE id = ?1")?;
    Ok(statement.query_row([id.to_string()], |row| row.get(0)).optional()?)
}

/// Returns the greatest row number of an agent that is there, or whose items or events are.
pub(crate) fn newest_row(connection: &Connection) -> Result<i64> {
    let newest = "SELECT max(ifnull((SELECT max(n) FROM agents), 0), ifnull((SELECT max(n) FROM items) >> 32, 0), \
        ifnull((SELECT max(n) FROM events) >> 32, 0))";
    Ok(connection.query_row(newest, [], |row| row.get(0))?)
}

/// Writes a new agent into the row with this number.
pub(crate) fn insert(connection: &Connection, row: i64, agent: &Agent) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO agents (id, owner, root, parent, depth, kind, key, title, status, waiting_on, epoch, \
         session, created, updated, stop_reason, n, works_for, living) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?;
    statement.execute(params![
        agent.id.to_string(),
        agent.owner.as_str(),
        agent.root.to_string(),
        agent.parent.map(|parent| parent.to_string()),
        agent.depth,
        agent.kind,
        agent.key.as_ref().map(ToString::to_string),
        agent.title,
        agent.status.as_str(),
        agent.waiting_on.map(|what| what.as_str()),
        int(agent.epoch.number),
        agent.session,
        agent.created.micros(),
        agent.updated.micros(),
        agent.stop_reason.map(|reason| reason.as_str()),
        row,
        agent.works_for.as_str(),
        agent.id == agent.root || !agent.status.is_terminal(),
    ])?;
    Ok(())
}

/// Writes what an activation may change of its agent, the activation's epoch, and whether the agent lives, if that
/// may have changed.
pub(crate) fn update(connection: &Connection, agent: &Agent, living: Option<bool>) -> Result<()> {
    macro_rules! update {
        ($living:literal) => {
            concat!(
                "UPDATE agents SET title = ?2, status = ?3, waiting_on = ?4, session = ?5, updated = ?6, \
                 epoch = ?7, stop_reason = ?8",
                $living,
                " WHERE id = ?1"
            )
        };
    }
    let id = agent.id.to_string();
    let values: [&dyn ToSql; 8] = [
        &id,
        &agent.title,
        &agent.status.as_str(),
        &agent.waiting_on.map(|what| what.as_str()),
        &agent.session,
        &agent.updated.micros(),
        &int(agent.epoch.number),
        &agent.stop_reason.map(|reason| reason.as_str()),
    ];
    match living {
        // An update that does not name a column leaves the indexes of that column alone.
        None => connection.prepare_cached(update!(""))?.execute(&values[..])?,
        Some(living) => connection
            .prepare_cached(update!(", living = ?9"))?
            .execute(&[&values[..], &[&living]].concat()[..])?,
    };
    Ok(())
}

/// Writes the epoch.
pub(crate) fn set_epoch(connection: &Connection, id: AgentId, epoch: Epoch) -> Result<()> {
    let mut statement = connection.prepare_cached("UPDATE agents SET epoch = ?2 WHERE id = ?1")?;
    statement.execute(params![id.to_string(), int(epoch.number)])?;
    Ok(())
}
