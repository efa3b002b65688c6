//! Who may write what, as far as the commit itself shows it: the same for every store.

use entourage_types::Agent;

use crate::{Commit, Error, Result, Write};

impl Commit {
    /// Refuses a commit that breaks the rules of [`Write`]. `writer` is the fenced agent as it
    /// stands; none for an outsider.
    ///
    /// # Errors
    /// [`Error::Corrupt`], which says what it would have done.
    pub fn keeps_the_rules(&self, writer: Option<&Agent>) -> Result<()> {
        match writer {
            Some(agent) => by_activation(agent, &self.writes),
            None => by_outsider(&self.writes),
        }
    }
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
            Write::PruneEvents(root, _) | Write::PruneAgent(root) => {
                return refuse(format!("a commit of agent {} would forget what agent {root} has", agent.id));
            }
            Write::PruneEntity(kind, id) => {
                return refuse(format!("a commit of agent {} would forget {kind} {id}", agent.id));
            }
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

fn refuse(why: String) -> Result<()> {
    Err(Error::Corrupt(why))
}
