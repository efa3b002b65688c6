//! What an activation starts from.

use entourage_store::Claim;
use entourage_types::{Agent, AgentId, Item, Post, Scope};
use rusqlite::Connection;

use crate::{fault::Result, inbox, items, readers::snapshot, runs, writer_cache::WriterCache};

/// The maximum number of posts of a new agent that are read with its claim.
const FEW_POSTS: u32 = 4;

/// An agent that was just claimed.
#[derive(Debug)]
pub(crate) enum Claimed {
    /// It has no items yet, so little belongs to it, which was read with the claim.
    New(Box<Claim>),
    /// What belongs to it is still to be read. With the number of earlier claims since its last commit.
    Known(Box<Agent>, u64),
}

/// Claims an agent on the connection that writes.
pub(crate) fn claim(
    connection: &Connection,
    cache: &mut WriterCache,
    id: AgentId,
) -> Result<Option<Claimed>> {
    let Some((agent, unsettled)) = cache.claim(connection, id)? else { return Ok(None) };
    // Commits wait while this reads, so it reads only a little.
    if agent.items > 0 {
        return Ok(Some(Claimed::Known(Box::new(agent), unsettled)));
    }
    let claim = || match inbox::few_posts(connection, id, FEW_POSTS)? {
        Some(inbox) => {
            rows(connection, (agent.clone(), unsettled), inbox, Vec::new()).map(|claim| Some(Box::new(claim)))
        }
        None => Ok(None),
    };
    // A transaction that is under way is a snapshot, too.
    let claim = if connection.is_autocommit() { snapshot(connection, claim)? } else { claim()? };
    Ok(Some(claim.map_or_else(|| Claimed::Known(Box::new(agent), unsettled), Claimed::New)))
}

/// Reads what belongs to an agent that was just claimed, in one snapshot. If another claim has followed
/// since, every commit under this one will be refused.
pub(crate) fn read(connection: &Connection, agent: Agent, unsettled: u64, from: u64) -> Result<Claim> {
    snapshot(connection, || {
        let inbox = inbox::posts(connection, agent.id)?;
        let items = items::of_session(connection, agent.id, agent.session, from)?;
        rows(connection, (agent, unsettled), inbox, items)
    })
}

fn rows(
    connection: &Connection,
    (agent, unsettled): (Agent, u64),
    inbox: Vec<Post>,
    items: Vec<Item>,
) -> Result<Claim> {
    let run = runs::open(connection, agent.id)?;
    let steps = match &run {
        Some(run) => runs::steps(connection, &Scope::All, run.id)?,
        None => Vec::new(),
    };
    let wakeups = inbox::wakeups(connection, agent.id)?;
    // One process has the file to itself: it is the only node, and its clock the only one.
    Ok(Claim { agent, now: None, unsettled, taken_from: None, run, steps, items, inbox, wakeups })
}
