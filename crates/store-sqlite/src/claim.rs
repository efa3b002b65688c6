//! What an activation starts from.

use entourage_store::Claim;
use entourage_types::{AgentId, Scope};
use rusqlite::Connection;

use crate::{agents, fault::Result, inbox, items, readers::snapshot, runs};

/// Reads an agent's claim, all of one moment. The epoch is the one that this claim raised: should
/// another have followed since, every commit under this one will be refused.
pub(crate) fn read(connection: &Connection, agent: AgentId, epoch: u64) -> Result<Option<Claim>> {
    snapshot(connection, || {
        let Some(mut agent) = agents::get(connection, agent)? else { return Ok(None) };
        agent.epoch = epoch;
        let run = runs::open(connection, agent.id)?;
        let steps = match &run {
            Some(run) => runs::steps(connection, &Scope::House, run.id)?,
            None => Vec::new(),
        };
        let items = items::of_session(connection, agent.id, agent.session)?;
        let inbox = inbox::posts(connection, agent.id)?;
        let wakeups = inbox::wakeups(connection, agent.id)?;
        Ok(Some(Claim { agent, run, steps, items, inbox, wakeups }))
    })
}
