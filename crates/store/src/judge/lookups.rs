//! What must be known before a commit can be judged.

use entourage_types::{Agent, AgentId, EntityKind, RunId, Time};

use crate::{Commit, Expect, Write};

/// One fact that a store looks up, inside the transaction that writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup<'c> {
    /// The fenced agent's row, with its epoch.
    Writer(AgentId),
    /// Whether the agent exists.
    Exists(AgentId),
    /// The existing agent that a new one conflicts with: of the same id, or of the same key in its tree.
    InPlaceOf(&'c Agent),
    /// The agent of the run, if the run exists.
    Run(RunId),
    /// Status and owner of the record, if it exists.
    Record(EntityKind, &'c str),
    /// How many agents the tree of this root has.
    AgentsOfTree(AgentId),
    /// How many children an agent has.
    Children(AgentId),
    /// Whether any agent in the tree of this root is queued, running or waiting, has posts or wake-ups, or
    /// has changed after this time.
    Stirs(AgentId, Time),
    /// The agents that cannot exist without this one: its children, and all others of its tree if it is the
    /// root.
    Dependents(AgentId),
}

impl Commit {
    /// Returns what a store looks up before [`judge`](Commit::judge), each fact once.
    #[must_use]
    pub fn lookups(&self) -> Vec<Lookup<'_>> {
        let mut wanted = LookupList { commit: self, lookups: Vec::with_capacity(self.writes.len()) };
        if let Some(fence) = self.fence {
            wanted.add(Lookup::Writer(fence.agent));
        }
        for expected in &self.expect {
            wanted.add(match expected {
                Expect::Agent(agent) => Lookup::Exists(*agent),
                Expect::Absent(kind, id) | Expect::Status(kind, id, _) | Expect::Version(kind, id, _) => {
                    Lookup::Record(*kind, id)
                }
                Expect::TreeBelow(root, _) => Lookup::AgentsOfTree(*root),
                Expect::ChildrenBelow(parent, _) => Lookup::Children(*parent),
                Expect::AtRest(root, since) => Lookup::Stirs(*root, *since),
            });
        }
        for write in &self.writes {
            wanted.of_write(write);
        }
        wanted.lookups
    }

    /// Whether the commit creates this agent.
    pub(super) fn makes(&self, agent: AgentId) -> bool {
        self.writes.iter().any(|write| matches!(write, Write::NewAgent(new) if new.id == agent))
    }
}

struct LookupList<'c> {
    commit: &'c Commit,
    lookups: Vec<Lookup<'c>>,
}

impl<'c> LookupList<'c> {
    fn add(&mut self, lookup: Lookup<'c>) {
        if !self.lookups.contains(&lookup) {
            self.lookups.push(lookup);
        }
    }

    /// Looks up whether an agent exists, unless it is the writer or is created by the commit: then it does.
    fn add_exists(&mut self, agent: AgentId) {
        let is_writer = self.commit.fence.is_some_and(|fence| fence.agent == agent);
        if !is_writer && !self.commit.makes(agent) {
            self.add(Lookup::Exists(agent));
        }
    }

    fn of_write(&mut self, write: &'c Write) {
        match write {
            Write::NewAgent(agent) => self.add(Lookup::InPlaceOf(agent)),
            Write::Run(run) => self.add(Lookup::Run(run.id)),
            Write::Step(step) => self.add(Lookup::Run(step.run)),
            Write::Post(post) => self.add_exists(post.agent),
            Write::ScheduleWakeup(wakeup) => self.add_exists(wakeup.agent),
            Write::DropOrphanWakeup(wakeup) => self.add(Lookup::Exists(wakeup.agent)),
            Write::PruneAgent(agent) => {
                self.add(Lookup::Exists(*agent));
                self.add(Lookup::Dependents(*agent));
            }
            Write::Record(entity, _) => self.add(Lookup::Record(entity.kind, &entity.id)),
            _ => {}
        }
        if let Some(root) = write.emits_in() {
            self.add_exists(root);
        }
    }
}
