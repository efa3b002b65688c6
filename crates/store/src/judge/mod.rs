//! Decides whether a commit is accepted, by its fence, its expectations and the rules of its writes, the same
//! for every store. A store looks up what [`Commit::lookups`] names, inside the transaction that writes;
//! [`Commit::judge`] decides by these facts alone; the store applies an accepted commit.

mod facts;
mod lookups;
mod rules;

use entourage_types::{Agent, AgentId, Entity, EventBody};

pub use facts::{Facts, Find, RecordState};
pub use lookups::Lookup;

use crate::{Commit, Error, Expect, Fence, Result, Write, derive};

/// An accepted commit.
#[derive(Debug)]
pub struct AcceptedCommit {
    /// The fenced agent as stored before the commit; none for an outsider.
    pub writer: Option<Agent>,
    /// The events of the commit: the root of the tree, the agent, and the body. The store assigns the
    /// numbers.
    pub events: Vec<(AgentId, AgentId, EventBody)>,
}

impl Commit {
    /// Decides whether the commit is accepted. The store has written nothing yet, so a refusal undoes
    /// nothing.
    ///
    /// # Errors
    /// If the commit is refused: [`Error::Fenced`], the error of an expectation that does not hold, or that
    /// of a broken rule.
    pub fn judge(&self, facts: &Facts) -> Result<AcceptedCommit> {
        let writer = self.fence.map(|fence| fenced(fence, facts)).transpose()?;
        for expected in &self.expect {
            expect(expected, facts)?;
        }
        self.validate(writer)?;
        self.fits(facts, writer)?;
        let events = derive::events(self, writer);
        let is_gone = |root| {
            self.writes.iter().any(|write| matches!(write, Write::PruneAgent(agent) if *agent == root))
        };
        let is_left = |root| self.is_there(root, facts, writer) && !is_gone(root);
        match events.iter().find(|(root, ..)| !is_left(*root)) {
            // No reader could find the events of a tree whose root does not exist.
            Some((root, ..)) => Err(Error::NoAgent { agent: *root }),
            None => Ok(AcceptedCommit { writer: writer.cloned(), events }),
        }
    }

    /// Whether an agent exists after the commit, unless the commit removes it.
    fn is_there(&self, agent: AgentId, facts: &Facts, writer: Option<&Agent>) -> bool {
        writer.is_some_and(|writer| writer.id == agent || writer.root == agent)
            || facts.agents.contains(&agent)
            || self.makes(agent)
    }

    /// Refuses what the existing rows forbid: a second agent of one id or key, a post to an agent that does
    /// not exist, a row that moves to another agent or owner, a child without its parent.
    fn fits(&self, facts: &Facts, writer: Option<&Agent>) -> Result<()> {
        let mut records: Vec<&Entity> = Vec::new();
        for (at, write) in self.writes.iter().enumerate() {
            let before = &self.writes[..at];
            match write {
                Write::NewAgent(new) => {
                    if let Some(agent) = in_place_of(new, before, facts) {
                        return Err(Error::AgentExists { agent });
                    }
                }
                Write::Run(run) if facts.run(run.id).is_some_and(|agent| agent != run.agent) => {
                    return Err(Error::foreign_run(run.agent, run.id));
                }
                Write::Step(step) => {
                    let writes_run = |write: &Write| matches!(write, Write::Run(run) if run.id == step.run);
                    let is_own = writer.is_some_and(|own| facts.run(step.run) == Some(own.id));
                    if !is_own && !self.writes.iter().any(writes_run) {
                        return Err(Error::foreign_step(step));
                    }
                }
                Write::DropOrphanWakeup(wakeup) if facts.agents.contains(&wakeup.agent) => {
                    return Err(Error::has_its_agent(wakeup));
                }
                Write::Post(post) => self.check_agent_exists(post.agent, facts, writer)?,
                Write::ScheduleWakeup(wakeup) => self.check_agent_exists(wakeup.agent, facts, writer)?,
                Write::PruneAgent(agent) => childless(*agent, before, facts)?,
                _ => {}
            }
            if let Write::Record(record, _) = write {
                let is_theirs = |other: &&Entity| {
                    (other.kind, &other.id) == (record.kind, &record.id) && other.owner != record.owner
                };
                let standing = facts.record(record.kind, &record.id);
                if standing.is_some_and(|standing| standing.owner != record.owner)
                    || records.iter().any(is_theirs)
                {
                    return Err(Error::Exists { kind: record.kind, id: record.id.clone() });
                }
                records.push(record);
            }
        }
        Ok(())
    }

    /// Refuses a post or a wake-up whose agent does not exist: no activation could ever read it.
    fn check_agent_exists(&self, agent: AgentId, facts: &Facts, writer: Option<&Agent>) -> Result<()> {
        if self.is_there(agent, facts, writer) { Ok(()) } else { Err(Error::NoAgent { agent }) }
    }
}

fn fenced(fence: Fence, facts: &Facts) -> Result<&Agent> {
    match &facts.writer {
        None => Err(Error::NoAgent { agent: fence.agent }),
        Some(agent) if agent.epoch != fence.epoch => Err(Error::Fenced { agent: fence.agent }),
        Some(agent) => Ok(agent),
    }
}

fn expect(expected: &Expect, facts: &Facts) -> Result<()> {
    let holds = |holds: bool, otherwise: Error| if holds { Ok(()) } else { Err(otherwise) };
    match expected {
        Expect::Agent(agent) => holds(facts.agents.contains(agent), Error::NoAgent { agent: *agent }),
        Expect::Absent(kind, id) => {
            holds(facts.record(*kind, id).is_none(), Error::Exists { kind: *kind, id: id.clone() })
        }
        Expect::Status(kind, id, status) => {
            let found = facts.record(*kind, id).map_or("missing", |record| record.status.as_str());
            let (expected, id) = ((*status).to_owned(), id.clone());
            holds(found == *status, Error::NotInStatus { kind: *kind, id, expected, found: found.to_owned() })
        }
        Expect::Version(kind, id, version) => {
            let found = facts.record(*kind, id).map_or(0, |record| record.version);
            let (expected, id) = (*version, id.clone());
            holds(found == expected, Error::OtherVersion { kind: *kind, id, expected, found })
        }
        Expect::TreeBelow(root, limit) => {
            let found = Facts::count(&facts.trees, *root)?;
            holds(found < *limit, Error::TreeFull { root: *root, found, limit: *limit })
        }
        Expect::ChildrenBelow(parent, limit) => {
            let found = Facts::count(&facts.children, *parent)?;
            holds(found < *limit, Error::TooManyChildren { parent: *parent, found, limit: *limit })
        }
        Expect::AtRest(root, _) => holds(!facts.stirring.contains(root), Error::NotAtRest { root: *root }),
    }
}

/// Whether a new agent conflicts with this one: of the same id, or of the same key in the tree.
pub(crate) fn is_same(agent: &Agent, new: &Agent) -> bool {
    agent.id == new.id || (new.key.is_some() && (agent.root, &agent.key) == (new.root, &new.key))
}

/// Returns the agent that a new one conflicts with, of the existing ones and of those created by `before`.
fn in_place_of(new: &Agent, before: &[Write], facts: &Facts) -> Option<AgentId> {
    let made = before.iter().find_map(|write| match write {
        Write::NewAgent(agent) if is_same(agent, new) => Some(agent.id),
        _ => None,
    });
    made.or_else(|| facts.taken.iter().find(|(id, _)| *id == new.id).map(|(_, taken)| *taken))
}

/// Refuses to remove an agent before the agents that depend on it.
fn childless(agent: AgentId, before: &[Write], facts: &Facts) -> Result<()> {
    if !facts.agents.contains(&agent) {
        return Err(Error::NoAgent { agent });
    }
    let is_gone = |child: AgentId| {
        before.iter().any(|write| matches!(write, Write::PruneAgent(gone) if *gone == child))
    };
    let dependents =
        facts.dependents.iter().find(|(known, _)| *known == agent).map(|(_, all)| all.as_slice());
    match dependents.unwrap_or_default().iter().find(|child| !is_gone(**child)) {
        Some(child) => Err(Error::RuleViolation(format!("agent {child} would lose its parent"))),
        None => Ok(()),
    }
}
