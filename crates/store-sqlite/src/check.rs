//! What must hold before a commit writes: its fence, its expectations, and the contract of its
//! writes. All of it is read before anything is written, so that a refusal undoes nothing.

use entourage_store::{Commit, Error, Expect, Fence, Write};
use entourage_types::{Agent, AgentId};
use rusqlite::Connection;

use crate::{agents, entities, fault::Result, known::Known};

/// Refuses a commit that must not happen; otherwise returns the fenced agent as it stands.
pub(crate) fn commit(connection: &Connection, known: &mut Known, commit: &Commit) -> Result<Option<Agent>> {
    let writer = commit.fence.map(|fence| fenced(connection, known, fence)).transpose()?;
    for expected in &commit.expect {
        expect(connection, expected)?;
    }
    match &writer {
        Some(agent) => by_activation(agent, &commit.writes)?,
        None => by_outsider(&commit.writes)?,
    }
    let mut known: Vec<AgentId> = writer.iter().map(|agent| agent.id).collect();
    for write in &commit.writes {
        match write {
            Write::NewAgent(agent) => {
                if let Some(agent) = agents::in_place_of(connection, agent)? {
                    return Err(Error::AgentExists { agent }.into());
                }
                known.push(agent.id);
            }
            Write::Post(post) => addressee(connection, post.agent, &mut known)?,
            Write::Wake(wakeup) => addressee(connection, wakeup.agent, &mut known)?,
            _ => {}
        }
    }
    Ok(writer)
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
        Expect::TreeBelow(root, limit) => agents::expect_room(connection, *root, *limit)?,
    }
    Ok(())
}

/// An activation writes its own agent only, where it stands, and appends to its transcript.
fn by_activation(agent: &Agent, writes: &[Write]) -> Result<()> {
    let mut items = agent.items;
    let mut claimed = None;
    for write in writes {
        match write {
            Write::Agent(row) if !same_place(agent, row) => {
                return refuse(format!("a commit of agent {} would move agent {}", agent.id, row.id));
            }
            Write::Agent(row) => claimed = Some(row.items),
            Write::Item(item) if item.agent != agent.id || item.seq != items => {
                return refuse(format!(
                    "item {} of agent {} is not the next of agent {}, which is {items}",
                    item.seq, item.agent, agent.id
                ));
            }
            Write::Item(_) => items += 1,
            Write::Run(run) if run.agent != agent.id => {
                return refuse(format!("a commit of agent {} writes a run of agent {}", agent.id, run.agent));
            }
            _ => {}
        }
    }
    match claimed {
        Some(claimed) if claimed != items => {
            refuse(format!("agent {} claims {claimed} items and has {items}", agent.id))
        }
        _ => Ok(()),
    }
}

fn same_place(before: &Agent, after: &Agent) -> bool {
    (before.id, before.root, before.parent, before.depth) == (after.id, after.root, after.parent, after.depth)
        && before.owner == after.owner
        && before.key == after.key
}

/// An outsider creates, posts and records; a transcript and its runs are not its business.
fn by_outsider(writes: &[Write]) -> Result<()> {
    let foreign = writes.iter().find(|write| {
        matches!(
            write,
            Write::Agent(_)
                | Write::Item(_)
                | Write::Run(_)
                | Write::Step(_)
                | Write::Read(_)
                | Write::Woken(_)
        )
    });
    match foreign {
        Some(write) => {
            refuse(format!("a commit without a fence writes what only an activation may: {write:?}"))
        }
        None => Ok(()),
    }
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

fn refuse(why: String) -> Result<()> {
    Err(Error::Corrupt(why).into())
}
