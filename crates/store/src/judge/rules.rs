//! Which writer may write what, as far as the commit itself shows it.

use entourage_types::{Agent, AgentId, Entity, LONGEST_NAME, StepKey};

use crate::{Commit, Error, Result, Write};

impl Commit {
    /// Refuses a commit that breaks the rules of [`Write`]. `writer` is the fenced agent as stored; none for
    /// an outsider.
    pub(super) fn validate(&self, writer: Option<&Agent>) -> Result<()> {
        self.writes.iter().try_for_each(check_stored_names)?;
        let new = begun(&self.writes)?;
        match writer {
            Some(agent) => by_activation(agent, &self.writes, &new),
            None => by_outsider(&self.writes, &new),
        }
    }
}

/// Refuses a long name or a NUL where a row is identified or found by it, and a NUL in titles and errors: not
/// every database can store or index these.
fn check_stored_names(write: &Write) -> Result<()> {
    let all =
        |names: &[&str]| match names.iter().find(|name| name.len() > LONGEST_NAME || name.contains('\0')) {
            Some(name) => {
                let name: String = name.chars().take(60).collect();
                refuse(format!("{name:?} is no name: it has a NUL or more than {LONGEST_NAME} bytes"))
            }
            None => Ok(()),
        };
    match write {
        Write::NewAgent(agent) | Write::Agent(agent) => {
            all(&[agent.owner.as_str(), &agent.kind, agent.key.as_deref().unwrap_or_default()])?;
            if agent.title.contains('\0') { refuse("a title has a NUL".to_owned()) } else { Ok(()) }
        }
        Write::Run(run) if run.error.as_ref().is_some_and(|error| error.contains('\0')) => {
            refuse("a run's error has a NUL".to_owned())
        }
        Write::Run(run) => all(&[run.owner.as_str(), &run.kind_version]),
        Write::ScheduleWakeup(wakeup) => all(&[wakeup.owner.as_str()]),
        Write::Step(step) => match &step.key {
            StepKey::Named(name) => all(&[name]),
            _ => Ok(()),
        },
        Write::Record(Entity { kind, id, root, .. }, Some(event)) if *root != Some(event.root) => {
            refuse(format!("a change of {kind} {id} would be reported in the tree of agent {}", event.root))
        }
        Write::Record(entity, _) => all(&[entity.owner.as_str(), &entity.id, &entity.status]),
        _ => Ok(()),
    }
}

/// Returns the agents that a commit creates. Refuses one whose row does not count the items that it begins
/// with, or whose items are not in order.
fn begun(writes: &[Write]) -> Result<Vec<AgentId>> {
    let mut new = Vec::new();
    for write in writes {
        let Write::NewAgent(agent) = write else { continue };
        let of_agent = |write: &Write| match write {
            Write::Item(item) if item.agent == agent.id => Some(item.seq),
            _ => None,
        };
        if !writes.iter().filter_map(of_agent).eq(0..agent.items) {
            refuse(format!("agent {} would not begin with {} items in order", agent.id, agent.items))?;
        }
        new.push(agent.id);
    }
    Ok(new)
}

/// An activation writes only its own agent, without changing who it is, and appends to its transcript; besides, it
/// writes the agents that it creates.
fn by_activation(agent: &Agent, writes: &[Write], new: &[AgentId]) -> Result<()> {
    let mut items = agent.items;
    let mut claimed = None;
    for write in writes {
        match write {
            Write::Agent(row) if !is_same_agent(agent, row) => {
                return refuse(format!(
                    "a commit of agent {} changes an immutable column of agent {}",
                    agent.id, row.id
                ));
            }
            Write::Agent(row) => claimed = Some(row.items),
            Write::Item(item) if new.contains(&item.agent) => {}
            Write::Item(item) if item.agent != agent.id || item.seq != items => {
                return refuse(format!(
                    "item {} of agent {} is not the next of agent {}, which is {items}",
                    item.seq, item.agent, agent.id
                ));
            }
            Write::Item(_) => items += 1,
            Write::PruneEvents(root, _) | Write::PruneAgent(root) => {
                return refuse(format!(
                    "a fenced commit, of agent {}, must not prune agent {root}",
                    agent.id
                ));
            }
            Write::PruneEntity(kind, id) => {
                return refuse(format!("a fenced commit, of agent {}, must not prune {kind} {id}", agent.id));
            }
            Write::Run(run) if (run.agent, &run.owner) != (agent.id, &agent.owner) => {
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

/// Whether all that never changes of an agent is the same.
fn is_same_agent(before: &Agent, after: &Agent) -> bool {
    (before.id, before.root, before.parent, before.depth) == (after.id, after.root, after.parent, after.depth)
        && (&before.owner, &before.kind, &before.key) == (&after.owner, &after.kind, &after.key)
        && before.created == after.created
}

/// An outsider creates, posts, records and prunes. It writes no run, no step and no row or item of an
/// existing agent, and it consumes no post and no wake-up.
fn by_outsider(writes: &[Write], new: &[AgentId]) -> Result<()> {
    let foreign = writes.iter().find(|write| match write {
        Write::Item(item) => !new.contains(&item.agent),
        Write::Agent(_)
        | Write::Run(_)
        | Write::Step(_)
        | Write::ConsumePost(_)
        | Write::ConsumeWakeup(_) => true,
        _ => false,
    });
    match foreign {
        Some(write) => {
            refuse(format!("a commit without a fence writes what only an activation may: {write:?}"))
        }
        None => Ok(()),
    }
}

fn refuse(why: String) -> Result<()> {
    Err(Error::RuleViolation(why))
}
