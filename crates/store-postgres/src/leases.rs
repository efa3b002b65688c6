//! Which agents a node serves. Calls that come while one is under way go together in the next round trip.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use deadpool_postgres::Client;
use entourage_store::{Error, Held, NODE_LEASE, Result};
use entourage_types::{AgentId, NodeId};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::{
    connect::{Own, on},
    fault,
    nodes::{holder, micros},
    rows::id,
    statement::{Statement, pipeline},
};

/// How many calls go together at most, and how many wait in line; others wait to be let in.
const LINE: usize = 1_024;

/// What a call does to the leases of its agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Take,
    GiveBack,
}

/// A call that waits.
struct Call {
    change: Change,
    agents: Vec<AgentId>,
    /// Gone if nobody waits for the call any more. It is made all the same.
    answer: oneshot::Sender<Result<Vec<Held>>>,
}

/// The leases of a node.
pub(crate) struct Leases {
    line: mpsc::Sender<Call>,
}

impl Leases {
    /// Serves the calls until this is dropped.
    pub(crate) fn new(node: NodeId, own: Own) -> Self {
        let (line, mut waiting) = mpsc::channel(LINE);
        drop(tokio::spawn(async move {
            let mut calls = Vec::new();
            while waiting.recv_many(&mut calls, LINE).await > 0 {
                while !calls.is_empty() {
                    let later = calls.split_off(together(&calls));
                    serve(node, &own, std::mem::replace(&mut calls, later)).await;
                }
            }
        }));
        Self { line }
    }

    /// Takes agents or gives them back, and returns those that other nodes hold.
    pub(crate) async fn change(&self, change: Change, agents: &[AgentId]) -> Result<Vec<Held>> {
        let (answer, answered) = oneshot::channel();
        let call = Call { change, agents: agents.to_vec(), answer };
        self.line.send(call).await.map_err(|_| Error::Closed)?;
        answered.await.map_err(|_| Error::Closed)?
    }
}

/// How many calls at the front of the line can go together: none takes an agent that another one gives back.
fn together(calls: &[Call]) -> usize {
    let mut changes: HashMap<AgentId, Change> = HashMap::new();
    let mut fits = |call: &Call| {
        call.agents.iter().all(|agent| *changes.entry(*agent).or_insert(call.change) == call.change)
    };
    calls.iter().position(|call| !fits(call)).unwrap_or(calls.len())
}

/// Makes calls that can go together, and answers each of them.
async fn serve(node: NodeId, own: &Own, calls: Vec<Call>) {
    let agents_of = |change| -> BTreeSet<Uuid> {
        let calls = calls.iter().filter(|call| call.change == change);
        calls.flat_map(|call| &call.agents).map(|agent| agent.uuid()).collect()
    };
    let held =
        changed(node, own, agents_of(Change::GiveBack), agents_of(Change::Take)).await.map_err(Error::from);
    for Call { change, agents, answer } in calls {
        let held = held.as_ref().map_err(Error::clone).map(|held| match change {
            Change::Take => agents
                .iter()
                .filter_map(|agent| held.get(agent).map(|by| Held { agent: *agent, by: *by }))
                .collect(),
            Change::GiveBack => Vec::new(),
        });
        // It fails if nobody waits for the call any more.
        let _ = answer.send(held);
    }
}

/// Gives agents back and takes others, and returns those that other nodes hold. Both statements lock leases in the order
/// of their agents, as those of all nodes do, so that none waits for one that waits for it; and so each is a transaction.
async fn changed(
    node: NodeId,
    own: &Own,
    given: BTreeSet<Uuid>,
    taken: BTreeSet<Uuid>,
) -> fault::Result<BTreeMap<AgentId, NodeId>> {
    let (given, taken): (Vec<Uuid>, Vec<Uuid>) = (given.into_iter().collect(), taken.into_iter().collect());
    let change = |client: Arc<Client>| {
        let give = (!given.is_empty()).then(|| {
            Statement::whole(
                "DELETE FROM agent_leases WHERE agent IN (SELECT agent FROM agent_leases WHERE agent = ANY ($1) \
                 AND node = $2 ORDER BY agent FOR UPDATE)",
            )
            .bind(given.clone())
            .bind(node.uuid())
        });
        let take = (!taken.is_empty()).then(|| {
            Statement::whole(&format!(
                "WITH taken AS (INSERT INTO agent_leases (agent, node) SELECT agent, $2 FROM unnest($1::uuid[]) AS agent \
                 ORDER BY agent ON CONFLICT (agent) DO UPDATE SET node = {} RETURNING agent, node) \
                 SELECT agent, node FROM taken WHERE node <> $2",
                holder("agent_leases")
            ))
            .bind(taken.clone())
            .bind(node.uuid())
            .bind(micros(NODE_LEASE))
        });
        let statements: Vec<Statement> = give.into_iter().chain(take).collect();
        async move { pipeline(&client, &statements).await }
    };
    let found = on(own, change).await?;
    let held = found
        .iter()
        .flatten()
        .map(|row| Ok((id(row, 0, AgentId::from_uuid)?, id(row, 1, NodeId::from_uuid)?)));
    held.collect()
}
