//! The nodes that share the database: their signs of life, and which of them serves an agent or does a job.
//!
//! Each call is one statement and a transaction of its own, over a connection that nothing else uses, so that no sign of
//! life waits for commits, unless the server takes no more connections. A node that is killed between two of them leaves rows of three sorts. Its own row says that it
//! is alive until the lease has ended, and is removed an hour later; its agents and jobs are free from then on, and until
//! then another node waits. None of that guards a row of the store: a node that wrongly believes that it holds an agent
//! has its commits refused by the agent's epoch as soon as another one has claimed it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use deadpool_postgres::{Client, Pool};
use entourage_store::{Alive, Held, LiveNode, NODE_LEASE, NodeInfo, NodeListener, Nodes, Result};
use entourage_types::{AgentId, DatabaseId, DispatchBy, NodeId, NodeRole, Time, Wakeup, WakeupId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    connect::{Own, on, query},
    fault, inbox,
    leases::{Change, Leases},
    rows::{CLOCK, count, get, id, time, unreadable},
    statement::{Statement, pipeline, storable},
};

/// How long the row of a node stays after its last sign of life, for people who look for it.
const KEPT: Duration = Duration::from_secs(3_600);

/// The node of a handle.
pub(crate) struct PostgresNodes {
    id: NodeId,
    own: Own,
    readers: Pool,
    leases: Leases,
}

impl PostgresNodes {
    /// The first pool is of one connection.
    pub(crate) fn new(id: NodeId, own: Pool, readers: Pool) -> Self {
        let own = Own::new(own, readers.clone());
        Self { id, leases: Leases::new(id, own.clone()), own, readers }
    }

    /// Removes rows of nodes, those whose last sign of life is long ago among them, and then what no node holds that is
    /// alive.
    async fn remove(&self, node: Option<NodeId>) -> fault::Result<()> {
        let remove = |client: Arc<Client>| {
            let statements = [
                Statement::whole(&format!("DELETE FROM nodes WHERE id = $1 OR beat + $2 < {CLOCK}"))
                    .bind(node.map(NodeId::uuid))
                    .bind(micros(KEPT)),
                free("agent_leases", "agent"),
                free("job_leases", "job"),
            ];
            async move { pipeline(&client, &statements).await }
        };
        on(&self.own, remove).await.map(drop)
    }
}

/// Removes the leases of nodes that are not alive, but for those that another node is about to take: so neither waits for
/// the other one.
fn free(table: &str, key: &str) -> Statement {
    Statement::whole(&format!(
        "DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} WHERE NOT is_alive(node, $1) FOR UPDATE SKIP LOCKED)"
    ))
    .bind(micros(NODE_LEASE))
}

/// Who holds a lease from now on if `$2` asks for one that a node has: that node while it is alive, by `$3`.
pub(crate) fn holder(table: &str) -> String {
    format!(
        "CASE WHEN {table}.node <> $2 AND is_alive({table}.node, $3) THEN {table}.node ELSE excluded.node END"
    )
}

pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[async_trait]
impl Nodes for PostgresNodes {
    fn id(&self) -> NodeId {
        self.id
    }

    async fn database(&self) -> Result<DatabaseId> {
        let found = query(&self.readers, || Statement::whole("SELECT id FROM database")).await?;
        let found = found.first().map(|row| id(row, 0, DatabaseId::from_uuid)).transpose()?;
        Ok(found.ok_or_else(|| unreadable(0, "the database has no id"))?)
    }

    async fn beat(&self, info: &NodeInfo) -> Result<Alive> {
        let NodeInfo { listener, version, role, dispatch, draining } = info;
        let beat = || {
            Statement::whole(&format!(
                "WITH own AS (INSERT INTO nodes ({NODE}) SELECT $1, $2, $3, $4, $5, $6, $7, clock.now, clock.now \
                 FROM (SELECT {CLOCK} AS now) AS clock ON CONFLICT (id) DO UPDATE SET address = excluded.address, \
                 token = excluded.token, version = excluded.version, role = excluded.role, \
                 dispatch = excluded.dispatch, draining = excluded.draining, beat = excluded.beat RETURNING {NODE}) \
                 SELECT nodes.*, own.beat FROM own, \
                 (SELECT * FROM own UNION ALL SELECT {NODE} FROM nodes WHERE id <> $1) AS nodes ORDER BY nodes.id"
            ))
            .bind(self.id.uuid())
            .bind(listener.as_ref().map(|listener| storable(listener.address.clone())))
            .bind(listener.as_ref().map(|listener| listener.token.clone()))
            .text(version)
            .text(role.name())
            .bind(dispatch.map(DispatchBy::name))
            .bind(*draining)
        };
        let (mut alive, mut is_any_long_gone) =
            (Alive { now: Time::from_micros(0), nodes: Vec::new() }, false);
        for row in query(&self.own, beat).await? {
            let (beat, now) = (time(&row, 8)?, time(&row, 9)?);
            alive.now = now;
            if beat + NODE_LEASE > now {
                alive.nodes.push(read(&row)?);
            }
            is_any_long_gone |= beat + KEPT < now;
        }
        // The sign of life was given, whatever comes of this.
        if is_any_long_gone && let Err(fault) = self.remove(None).await {
            tracing::debug!(?fault, "the rows of nodes that are gone were not removed");
        }
        Ok(alive)
    }

    async fn leave(&self) -> Result<()> {
        Ok(self.remove(Some(self.id)).await?)
    }

    async fn due(&self, until: Time, after: Option<(Time, WakeupId)>, limit: u32) -> Result<Vec<Wakeup>> {
        let due = || {
            inbox::due(until, after)
                .and(&format!(
                    "NOT EXISTS (SELECT FROM agent_leases JOIN nodes ON nodes.id = agent_leases.node \
                     WHERE agent_leases.agent = wakeups.agent AND nodes.id <> ? AND nodes.beat + ? > {CLOCK})"
                ))
                .bind(self.id.uuid())
                .bind(micros(NODE_LEASE))
                .end(inbox::FIRST_DUE)
                .bind(i64::from(limit))
        };
        let found = query(&self.readers, due).await?;
        Ok(found.iter().map(inbox::read_wakeup).collect::<fault::Result<_>>()?)
    }

    async fn take(&self, agents: &[AgentId]) -> Result<Vec<Held>> {
        self.leases.change(Change::Take, agents).await
    }

    async fn give_back(&self, agents: &[AgentId]) -> Result<()> {
        self.leases.change(Change::GiveBack, agents).await.map(drop)
    }

    async fn take_job(&self, job: &str) -> Result<bool> {
        let take = || {
            Statement::whole(&format!(
                "INSERT INTO job_leases (job, node) VALUES ($1, $2) ON CONFLICT (job) DO UPDATE SET node = {} \
                 RETURNING node = $2",
                holder("job_leases")
            ))
            .text(job)
            .bind(self.id.uuid())
            .bind(micros(NODE_LEASE))
        };
        let taken = query(&self.own, take).await?;
        Ok(taken.first().map(|row| get(row, 0)).transpose()?.unwrap_or_default())
    }

    async fn last_events(&self, roots: &[AgentId]) -> Result<Vec<(AgentId, u64)>> {
        let last = || {
            let roots: Vec<Uuid> = roots.iter().map(|root| root.uuid()).collect();
            Statement::whole("SELECT root, last_event FROM trees WHERE root = ANY ($1) AND last_event > 0")
                .bind(roots)
        };
        let found = query(&self.readers, last).await?;
        let last = found.iter().map(|row| Ok((id(row, 0, AgentId::from_uuid)?, count(row, 1)?)));
        Ok(last.collect::<fault::Result<_>>()?)
    }
}

/// The columns of a node.
const NODE: &str = "id, address, token, version, role, dispatch, draining, started, beat";

fn read(row: &Row) -> fault::Result<LiveNode> {
    let name: &str = get(row, 4)?;
    // One that only a newer program knows may be that of a node at which agents work.
    let role = NodeRole::named(name).unwrap_or_default();
    let listener = get::<Option<String>>(row, 1)?.zip(get::<Option<String>>(row, 2)?);
    let listener = listener.map(|(address, token)| NodeListener { address, token });
    let dispatch = get::<Option<&str>>(row, 5)?.and_then(DispatchBy::named);
    let info = NodeInfo { listener, version: get(row, 3)?, role, dispatch, draining: get(row, 6)? };
    Ok(LiveNode { id: id(row, 0, NodeId::from_uuid)?, info, started: time(row, 7)? })
}
