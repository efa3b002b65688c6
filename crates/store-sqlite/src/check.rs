//! What must hold before a commit writes: its fence, its expectations, and the contract of its
//! writes. All of it is read before anything is written, so that a refusal undoes nothing.

use entourage_store::{Commit, Error, Expect, Fence, Write};
use entourage_types::{Agent, AgentId, EventBody, Wakeup};
use rusqlite::Connection;

use crate::{agents, entities, fault::Result, known::Known, prune};

/// An event without its number: the tree, the agent, and what happened.
pub(crate) type Unnumbered = (AgentId, AgentId, EventBody);

/// Refuses a commit that must not happen; otherwise returns the fenced agent as it stands, and what the commit
/// tells.
pub(crate) fn commit(
    connection: &Connection,
    known: &mut Known,
    commit: &Commit,
) -> Result<(Option<Agent>, Vec<Unnumbered>)> {
    let writer = commit.fence.map(|fence| fenced(connection, known, fence)).transpose()?;
    for expected in &commit.expect {
        expect(connection, expected)?;
    }
    commit.keeps_the_rules(writer.as_ref())?;
    if let Some(writer) = &writer {
        for run in commit.runs_of_steps() {
            if !known.is_run_of(connection, run, writer.id)? {
                return Err(Error::foreign_step(writer.id, run).into());
            }
        }
    }
    let mut addressees: Vec<AgentId> = writer.iter().map(|agent| agent.id).collect();
    let mut roots: Vec<AgentId> = writer.iter().map(|agent| agent.root).collect();
    let mut pruned = Vec::new();
    for write in &commit.writes {
        match write {
            Write::NewAgent(agent) => {
                if let Some(agent) = agents::in_place_of(connection, agent)? {
                    return Err(Error::AgentExists { agent }.into());
                }
                addressees.push(agent.id);
                roots.push(agent.id);
            }
            Write::Forget(wakeup) => orphan(connection, wakeup)?,
            Write::Post(post) => addressee(connection, post.agent, &mut addressees)?,
            Write::Wake(wakeup) => addressee(connection, wakeup.agent, &mut addressees)?,
            Write::PruneAgent(agent) => {
                prune::childless(connection, *agent, &pruned)?;
                pruned.push(*agent);
            }
            _ => {}
        }
    }
    let told = entourage_store::events(commit, writer.as_ref());
    for (root, ..) in &told {
        // Nobody could read what is told of a tree that is gone.
        let is_left = roots.contains(root) || known.has_tree(connection, *root)?;
        if !is_left || pruned.contains(root) {
            return Err(Error::NoAgent { agent: *root }.into());
        }
    }
    Ok((writer, told))
}

fn fenced(connection: &Connection, known: &mut Known, fence: Fence) -> Result<Agent> {
    let agent = known.agent(connection, fence.agent)?.ok_or(Error::NoAgent { agent: fence.agent })?;
    if agent.epoch == fence.epoch { Ok(agent) } else { Err(Error::Fenced { agent: fence.agent }.into()) }
}

fn expect(connection: &Connection, expected: &Expect) -> Result<()> {
    match expected {
        Expect::Agent(agent) => {
            if !agents::exists(connection, *agent)? {
                return Err(Error::NoAgent { agent: *agent }.into());
            }
        }
        Expect::Absent(kind, id) => {
            if entities::status(connection, *kind, id)?.is_some() {
                return Err(Error::Exists { kind: *kind, id: id.clone() }.into());
            }
        }
        Expect::Status(kind, id, status) => {
            let found = entities::status(connection, *kind, id)?;
            if found.as_deref() != Some(status) {
                return Err(Error::NotInStatus {
                    kind: *kind,
                    id: id.clone(),
                    expected: (*status).to_owned(),
                    found: found.unwrap_or_else(|| "missing".to_owned()),
                }
                .into());
            }
        }
        Expect::TreeBelow(root, limit) => {
            let found = agents::count_in_tree(connection, *root)?;
            if found >= *limit {
                return Err(Error::TreeFull { root: *root, found, limit: *limit }.into());
            }
        }
        Expect::ChildrenBelow(parent, limit) => {
            let found = agents::count_children(connection, *parent)?;
            if found >= *limit {
                return Err(Error::TooManyChildren { parent: *parent, found, limit: *limit }.into());
            }
        }
        Expect::AtRest(root, since) => prune::expect_rest(connection, *root, *since)?,
    }
    Ok(())
}

/// What nobody could ever read is not written.
fn addressee(connection: &Connection, agent: AgentId, known: &mut Vec<AgentId>) -> Result<()> {
    if !known.contains(&agent) {
        if !agents::exists(connection, agent)? {
            return Err(Error::NoAgent { agent }.into());
        }
        known.push(agent);
    }
    Ok(())
}

/// Only the agent itself says that a wake-up of it has been served.
fn orphan(connection: &Connection, wakeup: &Wakeup) -> Result<()> {
    if agents::exists(connection, wakeup.agent)? {
        return Err(Error::has_its_agent(wakeup).into());
    }
    Ok(())
}
