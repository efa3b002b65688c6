//! Inboxes and wake-ups: the rows that are still to be consumed.

use entourage_types::{AgentId, Post, PostId, ScheduleId, Time, Wakeup, WakeupId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    fault::Result,
    rows::{id, id_if_any, json, owner, time},
    statement::{Rows, Statement, values},
};

pub(crate) const POST: &str = "id, agent, at, wakeup, body";
pub(crate) const WAKEUP: &str = "id, agent, owner, due, schedule";

/// The query for the posts in an agent's inbox, in the order in which they arrived.
pub(crate) fn posts(agent: AgentId) -> Statement {
    Statement::whole(&format!("SELECT {POST} FROM inbox WHERE agent = $1 ORDER BY n")).bind(agent.uuid())
}

/// The query for those of these posts that are in an agent's inbox, in the order in which they arrived.
pub(crate) fn posts_of(agent: AgentId, ids: &[PostId]) -> Statement {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    Statement::whole(&format!("SELECT {POST} FROM inbox WHERE agent = $1 AND id = ANY ($2) ORDER BY n"))
        .bind(agent.uuid())
        .bind(ids)
}

/// The query for the ids of at most this many posts in an agent's inbox.
pub(crate) fn post_ids(agent: AgentId, limit: u32) -> Statement {
    Statement::whole("SELECT id FROM inbox WHERE agent = $1 LIMIT $2")
        .bind(agent.uuid())
        .bind(i64::from(limit))
}

pub(crate) fn read_post(row: &Row) -> Result<Post> {
    Ok(Post {
        id: id(row, 0, PostId::from_uuid)?,
        agent: id(row, 1, AgentId::from_uuid)?,
        at: time(row, 2)?,
        wakeup: id(row, 3, WakeupId::from_uuid)?,
        body: json(row, 4)?,
    })
}

/// The query for how much is in an agent's inbox, of which it counts at most this many posts. No body is read.
pub(crate) fn size(agent: AgentId, most: u32) -> Statement {
    Statement::whole(
        "SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM \
         (SELECT octet_length(body) AS bytes FROM inbox WHERE agent = $1 LIMIT $2) AS counted",
    )
    .bind(agent.uuid())
    .bind(i64::from(most))
}

/// Puts posts into inboxes, in this order.
pub(crate) fn put(posts: &[&Post]) -> Result<Vec<Statement>> {
    let mut rows = Rows::new(
        "INSERT INTO inbox (agent, id, at, wakeup, body) VALUES",
        &["?"; 5],
        " ON CONFLICT (agent, id) DO UPDATE SET at = excluded.at, wakeup = excluded.wakeup, body = excluded.body, \
         n = DEFAULT",
    );
    for post in posts {
        let body = serde_json::to_string(&post.body)?;
        rows.push(values![post.agent.uuid(), post.id.uuid(), post.at.micros(), post.wakeup.uuid(), body]);
    }
    Ok(rows.statements())
}

/// Removes posts from the agent's inbox.
pub(crate) fn take(agent: AgentId, posts: Vec<Uuid>) -> Statement {
    Statement::whole("DELETE FROM inbox WHERE agent = $1 AND id = ANY ($2)").bind(agent.uuid()).bind(posts)
}

/// The query for the wake-ups of an agent, due or not.
pub(crate) fn wakeups(agent: AgentId) -> Statement {
    Statement::whole(&format!("SELECT {WAKEUP} FROM wakeups WHERE agent = $1 ORDER BY due, id"))
        .bind(agent.uuid())
}

/// The query for the wake-ups that are due at `until` or before and come after `after`, in the order of (due, id).
pub(crate) fn due(until: Time, after: Option<(Time, WakeupId)>) -> Statement {
    let select = Statement::new(&format!("SELECT {WAKEUP} FROM wakeups WHERE due <= ?")).bind(until.micros());
    match after {
        Some((due, id)) => select.and("(due, id) > (?, ?)").bind(due.micros()).bind(id.uuid()),
        None => select,
    }
}

/// The end of a query for wake-ups that are due, before the number of rows.
pub(crate) const FIRST_DUE: &str = "ORDER BY due, id LIMIT ?";

/// The query for whether a wake-up of the agent is due at `until` or before: a row if one is.
pub(crate) fn is_due(agent: AgentId, until: Time) -> Statement {
    let select = Statement::new("SELECT 1 FROM wakeups WHERE agent = ?").bind(agent.uuid());
    select.and("due <= ?").bind(until.micros()).end("LIMIT 1")
}

pub(crate) fn read_wakeup(row: &Row) -> Result<Wakeup> {
    Ok(Wakeup {
        id: id(row, 0, WakeupId::from_uuid)?,
        agent: id(row, 1, AgentId::from_uuid)?,
        owner: owner(row, 2)?,
        due: time(row, 3)?,
        schedule: id_if_any(row, 4, ScheduleId::from_uuid)?,
    })
}

/// Writes wake-ups.
pub(crate) fn wake(wakeups: &[&Wakeup]) -> Vec<Statement> {
    let mut rows = Rows::new(
        "INSERT INTO wakeups (id, agent, owner, due, schedule) VALUES",
        &["?"; 5],
        " ON CONFLICT (id) DO UPDATE SET agent = excluded.agent, owner = excluded.owner, due = excluded.due, \
         schedule = excluded.schedule",
    );
    for wakeup in wakeups {
        rows.push(values![
            wakeup.id.uuid(),
            wakeup.agent.uuid(),
            wakeup.owner.to_string(),
            wakeup.due.micros(),
            wakeup.schedule.map(ScheduleId::uuid),
        ]);
    }
    rows.statements()
}

/// Removes wake-ups of the agents that the ids belong to; of one agent alone, if it is given.
pub(crate) fn woken(agent: Option<AgentId>, wakeups: Vec<Uuid>) -> Statement {
    match agent {
        Some(agent) => Statement::whole("DELETE FROM wakeups WHERE agent = $1 AND id = ANY ($2)")
            .bind(agent.uuid())
            .bind(wakeups),
        None => Statement::whole("DELETE FROM wakeups WHERE id = ANY ($1)").bind(wakeups),
    }
}
