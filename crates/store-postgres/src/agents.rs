//! Agents.

use entourage_store::{AgentQuery, words::title_words};
use entourage_types::{Agent, AgentId, CommitId, NodeId, Scope, ShownStatus, Status};
use tokio_postgres::Row;

use crate::{
    fault::Result,
    rows::{CLOCK, count, get, id, id_if_any, int, owner, small, time, word, word_if_any},
    statement::{Rows, Statement, values},
};

/// The columns of an agent, which [`read`] expects to begin at 0.
pub(crate) const COLUMNS: &str = "agents.id, agents.owner, agents.root, agents.parent, agents.works_for, agents.depth, \
                                  agents.kind, agents.key, agents.title, agents.status, agents.waiting_on, \
                                  agents.stop_reason, agents.epoch, agents.session, agents.items, agents.created, \
                                  agents.updated";
/// How many these are.
pub(crate) const WIDTH: usize = 17;

const UNREAD: &str = "EXISTS (SELECT 1 FROM inbox WHERE inbox.agent = agents.id)";
/// A schedule wakes an agent for its trigger, not for what it has to do.
const UNWOKEN: &str =
    "NOT EXISTS (SELECT 1 FROM wakeups WHERE wakeups.agent = agents.id AND wakeups.schedule IS NULL)";
/// The inbox table is short, because few agents have posts.
const ACTIVE: &str = "agents.status <> 'cancelled' AND agents.id IN (SELECT id FROM agents WHERE active UNION ALL \
                      SELECT agent FROM inbox)";
const ACTIVE_OF_OWNER: &str = "agents.status <> 'cancelled' AND agents.id IN \
                               (SELECT id FROM agents WHERE active AND owner = ? UNION ALL SELECT agent FROM inbox)";

pub(crate) fn read(row: &Row) -> Result<Agent> {
    let depth: i32 = get(row, 5)?;
    Ok(Agent {
        id: id(row, 0, AgentId::from_uuid)?,
        owner: owner(row, 1)?,
        root: id(row, 2, AgentId::from_uuid)?,
        parent: id_if_any(row, 3, AgentId::from_uuid)?,
        works_for: word(row, 4)?,
        depth: u16::try_from(depth).unwrap_or(u16::MAX),
        kind: get(row, 6)?,
        key: word_if_any(row, 7)?,
        title: get(row, 8)?,
        status: word(row, 9)?,
        waiting_on: word_if_any(row, 10)?,
        stop_reason: word_if_any(row, 11)?,
        epoch: count(row, 12)?.into(),
        session: small(row, 13)?,
        items: count(row, 14)?,
        created: time(row, 15)?,
        updated: time(row, 16)?,
    })
}

/// The query for one agent, if the scope includes it.
pub(crate) fn one(scope: &Scope, id: AgentId) -> Statement {
    Statement::new(&format!("SELECT {COLUMNS} FROM agents WHERE id = ?"))
        .bind(id.uuid())
        .seen_by(scope, "owner")
}

/// The query for agents.
pub(crate) fn select(scope: &Scope, query: &AgentQuery) -> Statement {
    let ended = query.status.filter(|status| status.is_terminal());
    let other = query.status.filter(|status| !status.is_terminal());
    let size = "octet_length(agents.title)::bigint + 300 AS size";
    let select = Statement::new(&format!("SELECT {COLUMNS}, {size} FROM agents WHERE true"))
        .seen_by(scope, "agents.owner")
        .only_if("agents.root = ?", query.root.map(AgentId::uuid))
        .only_if("agents.parent = ?", query.parent.map(AgentId::uuid))
        .only("agents.kind = ?", query.kind.as_deref())
        .only("agents.key = ?", query.key.as_ref())
        .only("agents.ended_as = ?", ended)
        .only("agents.status = ?", other)
        .only("agents.waiting_on = ?", query.waiting_on);
    let select = match other {
        Some(ShownStatus::Queued | ShownStatus::Running | ShownStatus::Waiting) => {
            select.and("agents.active")
        }
        _ => select,
    };
    let words = title_words(query.title.as_deref().unwrap_or_default());
    let select = words.fold(select, |select, word| match word.contains('\0') {
        // No title has one.
        true => select.and("false"),
        false => select
            .and("lower(agents.title COLLATE \"C\") LIKE ?")
            .text(containing(&word.to_ascii_lowercase())),
    });
    let select = if query.roots { select.and("agents.parent IS NULL") } else { select };
    let select = if query.unread { select.and(UNREAD) } else { select };
    let select = if query.unwoken { select.and(UNWOKEN) } else { select };
    let select = match (query.active, scope.owner()) {
        (true, Some(owner)) => select.and(ACTIVE_OF_OWNER).text(owner),
        (true, None) => select.and(ACTIVE),
        (false, _) => select,
    };
    let is_restricted = scope.owner().is_some()
        || query.root.is_some()
        || query.parent.is_some()
        || query.unread
        || query.active
        || other.is_some_and(|status| status != ShownStatus::Idle);
    let page = match is_restricted {
        true => select.page("agents", None, scope, &query.page),
        false => select.page_of_all("agents", scope, &query.page),
    };
    page.within(query.page.bytes)
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

const fn is_active(status: Status) -> bool {
    matches!(status, Status::Queued | Status::Running | Status::Waiting)
}

/// How an agent ended, as users see it; none if it has not.
fn ended_as(agent: &Agent) -> Option<&'static str> {
    Some(agent.shown()).filter(|shown| shown.is_terminal()).map(ShownStatus::as_str)
}

/// The statements that write new agents, and the trees of those that are roots.
pub(crate) fn insert(agents: &[&Agent]) -> Vec<Statement> {
    let mut rows = Rows::new(
        "INSERT INTO agents (id, owner, root, parent, works_for, depth, kind, key, title, status, waiting_on, \
         stop_reason, epoch, settled, session, items, created, updated, active, ended_as, living) VALUES",
        &["?"; 21],
        "",
    );
    for agent in agents {
        let epoch = int(agent.epoch.number);
        rows.push(values![
            agent.id.uuid(),
            agent.owner.to_string(),
            agent.root.uuid(),
            agent.parent.map(AgentId::uuid),
            agent.works_for.as_str(),
            i32::from(agent.depth),
            agent.kind.clone(),
            agent.key.as_ref().map(ToString::to_string),
            agent.title.clone(),
            agent.status.as_str(),
            agent.waiting_on.map(|what| what.as_str()),
            agent.stop_reason.map(|reason| reason.as_str()),
            epoch,
            epoch,
            i64::from(agent.session),
            int(agent.items),
            agent.created.micros(),
            agent.updated.micros(),
            is_active(agent.status),
            ended_as(agent),
            agent.id == agent.root || !agent.status.is_terminal(),
        ]);
    }
    let mut statements = rows.statements();
    let roots: Vec<_> =
        agents.iter().filter(|agent| agent.id == agent.root).map(|agent| agent.id.uuid()).collect();
    if !roots.is_empty() {
        let trees = "INSERT INTO trees (root, last_at) SELECT root, -9223372036854775808 FROM unnest($1::uuid[]) AS root";
        statements.push(Statement::whole(trees).bind(roots));
    }
    statements
}

/// Writes what an activation has changed of its agent, and then the receipt of its commit, which returns whether the
/// agent has something to read: its inbox is written before.
pub(crate) fn update(agent: &Agent, commit: CommitId) -> Statement {
    Statement::whole(
        "WITH own AS (UPDATE agents SET title = $2, status = $3, waiting_on = $4, stop_reason = $5, session = $6, \
         items = $7, updated = $8, active = $9, ended_as = $10, settled = epoch, living = id = root \
         OR $10::text IS NULL OR EXISTS (SELECT 1 FROM inbox WHERE inbox.agent = $1) WHERE id = $1) \
         INSERT INTO receipts (id, inbox) VALUES ($11, EXISTS (SELECT 1 FROM inbox WHERE agent = $1)) RETURNING inbox",
    )
    .bind(agent.id.uuid())
    .bind(agent.title.clone())
    .bind(agent.status.as_str())
    .bind(agent.waiting_on.map(|what| what.as_str()))
    .bind(agent.stop_reason.map(|reason| reason.as_str()))
    .bind(i64::from(agent.session))
    .bind(int(agent.items))
    .bind(agent.updated.micros())
    .bind(is_active(agent.status))
    .bind(ended_as(agent))
    .bind(commit.uuid())
}

/// The same where nothing of the agent's row has changed but its number of items.
pub(crate) fn settle(agent: &Agent, commit: CommitId) -> Statement {
    let living = match agent.status.is_terminal() {
        true => ", living = id = root OR EXISTS (SELECT 1 FROM inbox WHERE inbox.agent = $1)",
        false => "",
    };
    Statement::whole(&format!(
        "WITH own AS (UPDATE agents SET items = $2, settled = epoch{living} WHERE id = $1) \
         INSERT INTO receipts (id, inbox) VALUES ($3, EXISTS (SELECT 1 FROM inbox WHERE agent = $1)) RETURNING inbox"
    ))
    .bind(agent.id.uuid())
    .bind(int(agent.items))
    .bind(commit.uuid())
}

/// The receipt of an outsider's commit.
pub(crate) fn receipt(commit: CommitId) -> Statement {
    Statement::whole("INSERT INTO receipts (id, inbox) VALUES ($1, false) RETURNING inbox")
        .bind(commit.uuid())
}

/// Writes that these agents live: they have something to read.
pub(crate) fn revive(agents: Vec<uuid::Uuid>) -> Statement {
    Statement::whole("UPDATE agents SET living = true WHERE id = ANY ($1) AND NOT living AND id <> root")
        .bind(agents)
}

/// Raises the epoch of an agent and returns its row, the node that held it before, the claims since its last commit, and
/// the database's time.
pub(crate) fn claim(id: AgentId, node: NodeId) -> Statement {
    Statement::whole(&format!(
        "UPDATE agents SET epoch = agents.epoch + 1, node = $2 \
         FROM (SELECT id, node FROM agents WHERE id = $1 FOR NO KEY UPDATE) AS before WHERE agents.id = before.id \
         RETURNING {COLUMNS}, before.node, agents.epoch - agents.settled - 1, {CLOCK}"
    ))
    .bind(id.uuid())
    .bind(node.uuid())
}
