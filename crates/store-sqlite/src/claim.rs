//! What an activation starts from.

use entourage_store::Claim;
use entourage_types::{Agent, Scope};
use rusqlite::Connection;

use crate::{fault::Result, inbox, items, readers::snapshot, runs};

/// Reads what belongs to an agent that was just claimed, all of one moment. Should another claim
/// have followed since, every commit under this one will be refused.
pub(crate) fn read(connection: &Connection, agent: Agent, from: u64) -> Result<Claim> {
    snapshot(connection, || {
        let run = runs::open(connection, agent.id)?;
        let steps = match &run {
            Some(run) => runs::steps(connection, &Scope::House, run.id)?,
            None => Vec::new(),
        };
        let items = items::of_session(connection, agent.id, agent.session, from)?;
        let inbox = inbox::posts(connection, agent.id)?;
        let wakeups = inbox::wakeups(connection, agent.id)?;
        Ok(Claim { agent, run, steps, items, inbox, wakeups })
    })
}
