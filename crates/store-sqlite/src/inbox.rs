//! Inboxes and wake-ups: the rows that are still to be consumed.

use entourage_store::InboxSize;
use entourage_types::{AgentId, Owner, Post, PostId, Time, Wakeup, WakeupId};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::{
    fault::Result,
    rows::{json, time, word, word_if_any},
};

/// The columns of a post, before its arrival number.
pub(crate) const POST: &str = "id, agent, at, wakeup, body";
pub(crate) const WAKEUP: &str = "id, agent, owner, due, schedule";

/// Returns the posts in an agent's inbox, in the order in which they arrived.
pub(crate) fn posts(connection: &Connection, agent: AgentId) -> Result<Vec<Post>> {
    read_posts(connection, agent, u32::MAX)
}

/// The same, if there are at most `few`.
pub(crate) fn few_posts(connection: &Connection, agent: AgentId, few: u32) -> Result<Option<Vec<Post>>> {
    let posts = read_posts(connection, agent, few + 1)?;
    Ok(Some(posts).filter(|posts| posts.len() <= few as usize))
}

/// Reads so many posts, those with the first ids, in the order in which they arrived.
fn read_posts(connection: &Connection, agent: AgentId, most: u32) -> Result<Vec<Post>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, agent, at, wakeup, body, n FROM inbox WHERE agent = ?1 ORDER BY id LIMIT ?2",
    )?;
    let posts = statement.query_map(params![agent.to_string(), most], read_post)?;
    Ok(in_order(posts.collect::<rusqlite::Result<_>>()?))
}

/// Returns those of these posts that are in an agent's inbox, in the order in which they arrived.
pub(crate) fn posts_of(connection: &Connection, agent: AgentId, ids: &[PostId]) -> Result<Vec<Post>> {
    let mut statement = connection
        .prepare_cached("SELECT id, agent, at, wakeup, body, n FROM inbox WHERE agent = ?1 AND id = ?2")?;
    let mut posts = Vec::new();
    for id in ids {
        posts.extend(statement.query_row([agent.to_string(), id.to_string()], read_post).optional()?);
    }
    Ok(in_order(posts))
}

/// Reads a post and its arrival number.
pub(crate) fn read_post(row: &Row<'_>) -> rusqlite::Result<(i64, Post)> {
    let post = Post {
        id: word(row, 0)?,
        agent: word(row, 1)?,
        at: time(row, 2)?,
        wakeup: word(row, 3)?,
        body: json(row, 4)?,
    };
    Ok((row.get(5)?, post))
}

fn in_order(mut posts: Vec<(i64, Post)>) -> Vec<Post> {
    posts.sort_by_key(|(n, _)| *n);
    posts.into_iter().map(|(_, post)| post).collect()
}

/// Whether an agent's inbox has posts.
pub(crate) fn has_posts(connection: &Connection, agent: AgentId) -> Result<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM inbox WHERE agent = ?1")?.exists([agent.to_string()])?)
}

/// Returns the ids of at most this many posts in an agent's inbox, and reads none of their bodies.
pub(crate) fn post_ids(connection: &Connection, agent: AgentId, limit: u32) -> Result<Vec<PostId>> {
    let mut statement = connection.prepare_cached("SELECT id FROM inbox WHERE agent = ?1 LIMIT ?2")?;
    let ids = statement.query_map(params![agent.to_string(), limit], |row| word(row, 0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// Returns how much is in an agent's inbox, of which it counts at most this many posts. The length of a body is beside it:
/// none is read.
pub(crate) fn size(connection: &Connection, agent: AgentId, most: u32) -> Result<InboxSize> {
    let mut statement = connection.prepare_cached(
        "SELECT count(*), coalesce(sum(bytes), 0) FROM \
         (SELECT octet_length(body) AS bytes FROM inbox WHERE agent = ?1 LIMIT ?2)",
    )?;
    let size =
        |row: &Row<'_>| Ok(InboxSize { posts: row.get(0)?, bytes: row.get::<_, i64>(1)?.unsigned_abs() });
    Ok(statement.query_row(params![agent.to_string(), most], size)?)
}

/// Returns the arrival number of the last post that is still in an inbox, 0 if there is none.
pub(crate) fn last_arrival(connection: &Connection) -> Result<i64> {
    let mut statement = connection.prepare_cached("SELECT coalesce(max(n), 0) FROM inbox WHERE true")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Puts a post into an inbox, with this arrival number.
pub(crate) fn put(connection: &Connection, post: &Post, arrival: i64) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO inbox (agent, id, at, wakeup, body, n) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    statement.execute(params![
        post.agent.to_string(),
        post.id.to_string(),
        post.at.micros(),
        post.wakeup.to_string(),
        serde_json::to_string(&post.body)?,
        arrival,
    ])?;
    Ok(())
}

/// Removes a post from the agent's inbox. Returns whether it was there.
pub(crate) fn take(connection: &Connection, agent: AgentId, post: PostId) -> Result<bool> {
    let mut statement = connection.prepare_cached("DELETE FROM inbox WHERE agent = ?1 AND id = ?2")?;
    Ok(statement.execute([agent.to_string(), post.to_string()])? > 0)
}

/// Returns the wake-ups of an agent, due or not.
pub(crate) fn wakeups(connection: &Connection, agent: AgentId) -> Result<Vec<Wakeup>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, agent, owner, due, schedule FROM wakeups WHERE agent = ?1 ORDER BY due, id",
    )?;
    let wakeups = statement.query_map([agent.to_string()], read_wakeup)?;
    Ok(wakeups.collect::<rusqlite::Result<_>>()?)
}

/// Whether an agent has wake-ups, due or not.
pub(crate) fn is_woken(connection: &Connection, agent: AgentId) -> Result<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM wakeups WHERE agent = ?1")?.exists([agent.to_string()])?)
}

/// Returns the wake-ups that are due at `until` or before and come after `after`, in the order of (due, id).
pub(crate) fn due(
    connection: &Connection,
    until: Time,
    after: Option<(Time, WakeupId)>,
    limit: u32,
) -> Result<Vec<Wakeup>> {
    let (due, id) = match after {
        Some((due, id)) => (due.micros(), id.to_string()),
        None => (i64::MIN, String::new()),
    };
    let mut statement = connection.prepare_cached(
        "SELECT id, agent, owner, due, schedule FROM wakeups WHERE due <= ?1 AND (due, id) > (?2, ?3) \
         ORDER BY due, id LIMIT ?4",
    )?;
    let wakeups = statement.query_map(params![until.micros(), due, id, limit], read_wakeup)?;
    Ok(wakeups.collect::<rusqlite::Result<_>>()?)
}

/// Whether a wake-up of the agent is due at `until` or before.
pub(crate) fn is_due(connection: &Connection, agent: AgentId, until: Time) -> Result<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM wakeups WHERE agent = ?1 AND due <= ?2")?;
    Ok(statement.exists(params![agent.to_string(), until.micros()])?)
}

/// Writes a wake-up.
pub(crate) fn wake(connection: &Connection, wakeup: &Wakeup) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO wakeups (agent, id, owner, due, schedule) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    statement.execute(params![
        wakeup.agent.to_string(),
        wakeup.id.to_string(),
        wakeup.owner.as_str(),
        wakeup.due.micros(),
        wakeup.schedule.map(|schedule| schedule.to_string()),
    ])?;
    Ok(())
}

/// Removes a wake-up of the agent.
pub(crate) fn woken(connection: &Connection, agent: AgentId, wakeup: WakeupId) -> Result<()> {
    let mut statement = connection.prepare_cached("DELETE FROM wakeups WHERE agent = ?1 AND id = ?2")?;
    statement.execute([agent.to_string(), wakeup.to_string()])?;
    Ok(())
}

pub(crate) fn read_wakeup(row: &Row<'_>) -> rusqlite::Result<Wakeup> {
    Ok(Wakeup {
        id: word(row, 0)?,
        agent: word(row, 1)?,
        owner: Owner::new(row.get::<_, String>(2)?),
        due: time(row, 3)?,
        schedule: word_if_any(row, 4)?,
    })
}
