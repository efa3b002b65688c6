//! What a store does, in the plainest way: rows in lists, a commit on a copy of them all.

use std::collections::BTreeMap;

use entourage_types::{
    Agent, AgentId, Entity, Event, EventBody, Item, Post, PostId, Run, RunId, Step, Wakeup, WakeupId,
};

use crate::{Claim, Commit, Committed, Expect, Write, derive};

/// A store in memory, for comparison.
#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    pub(crate) agents: Vec<Agent>,
    pub(crate) items: Vec<Item>,
    pub(crate) runs: Vec<Run>,
    pub(crate) steps: Vec<Step>,
    pub(crate) inbox: BTreeMap<(AgentId, PostId), Post>,
    pub(crate) wakeups: BTreeMap<WakeupId, Wakeup>,
    pub(crate) entities: Vec<Entity>,
    pub(crate) events: Vec<Event>,
}

/// That a commit is refused; why is for single examples to show.
#[derive(Debug)]
pub(crate) struct Refused;

type Result<T> = std::result::Result<T, Refused>;

fn must(hold: bool) -> Result<()> {
    if hold { Ok(()) } else { Err(Refused) }
}

fn put<T>(rows: &mut Vec<T>, row: &T, same: impl Fn(&T) -> bool)
where
    T: Clone,
{
    match rows.iter_mut().find(|row| same(row)) {
        Some(found) => *found = row.clone(),
        None => rows.push(row.clone()),
    }
}

impl Model {
    pub(crate) fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.id == id)
    }

    pub(crate) fn posts(&self, agent: AgentId) -> Vec<Post> {
        self.inbox.values().filter(|post| post.agent == agent).cloned().collect()
    }

    pub(crate) fn due(&self) -> Vec<Wakeup> {
        let mut wakeups: Vec<Wakeup> = self.wakeups.values().cloned().collect();
        wakeups.sort_by_key(|wakeup| (wakeup.due, wakeup.id));
        wakeups
    }

    pub(crate) fn steps(&self, run: RunId) -> Vec<Step> {
        self.steps.iter().filter(|step| step.run == run).cloned().collect()
    }

    pub(crate) fn claim(&mut self, id: AgentId) -> Option<Claim> {
        let agent = self.agents.iter_mut().find(|agent| agent.id == id)?;
        agent.epoch += 1;
        let agent = agent.clone();
        let last = self.runs.iter().rfind(|run| run.agent == id);
        let run = last.filter(|run| !run.status.is_terminal()).cloned();
        let of_session = |item: &&Item| item.agent == id && item.session == agent.session;
        Some(Claim {
            steps: run.as_ref().map_or_else(Vec::new, |run| self.steps(run.id)),
            run,
            items: self.items.iter().filter(of_session).cloned().collect(),
            inbox: self.posts(id),
            wakeups: self.due().into_iter().filter(|wakeup| wakeup.agent == id).collect(),
            agent,
        })
    }

    pub(crate) fn commit(&mut self, commit: &Commit) -> Result<Committed> {
        let writer = match commit.fence {
            Some(fence) => Some(self.agent(fence.agent).cloned().ok_or(Refused)?),
            None => None,
        };
        must(writer.as_ref().map(|agent| agent.epoch) == commit.fence.map(|fence| fence.epoch))?;
        for expected in &commit.expect {
            must(self.holds(expected))?;
        }
        let mut after = self.clone();
        for write in &commit.writes {
            after.write(write, writer.as_ref().map(|agent| agent.id))?;
        }
        after.count(commit, writer.as_ref())?;
        for (root, agent, body) in derive::events(commit, writer.as_ref()) {
            let seq = after.events.iter().filter(|event| event.root == root).count() as u64 + 1;
            after.events.push(Event { root, seq, agent, at: commit.at, body });
        }
        *self = after;
        Ok(Committed { inbox: writer.is_some_and(|agent| !self.posts(agent.id).is_empty()) })
    }

    fn holds(&self, expected: &Expect) -> bool {
        match expected {
            Expect::Agent(id) => self.agent(*id).is_some(),
            Expect::Absent(kind, id) => !self.entities.iter().any(|e| (e.kind, &e.id) == (*kind, id)),
            Expect::Status(kind, id, status) => {
                self.entities.iter().any(|e| (e.kind, &e.id) == (*kind, id) && e.status == *status)
            }
            Expect::TreeBelow(root, limit) => {
                (self.agents.iter().filter(|agent| agent.root == *root).count() as u64) < u64::from(*limit)
            }
        }
    }

    fn write(&mut self, write: &Write, writer: Option<AgentId>) -> Result<()> {
        match write {
            Write::NewAgent(new) => {
                let same = |agent: &Agent| agent.root == new.root && agent.key == new.key;
                must(self.agent(new.id).is_none() && (new.key.is_none() || !self.agents.iter().any(same)))?;
                self.agents.push(new.clone());
            }
            Write::Agent(row) => {
                must(writer == Some(row.id))?;
                let agent = self.agents.iter_mut().find(|agent| agent.id == row.id).ok_or(Refused)?;
                *agent = Agent { epoch: agent.epoch, ..row.clone() };
            }
            Write::Item(item) => {
                let next = self.items.iter().filter(|other| other.agent == item.agent).count() as u64;
                must(writer == Some(item.agent) && item.seq == next)?;
                self.items.push(item.clone());
            }
            Write::Run(run) => {
                must(writer == Some(run.agent))?;
                put(&mut self.runs, run, |other| other.id == run.id);
            }
            Write::Step(step) => {
                must(writer.is_some())?;
                put(&mut self.steps, step, |other| (other.run, &other.key) == (step.run, &step.key));
            }
            Write::Post(post) => {
                must(self.agent(post.agent).is_some())?;
                self.inbox.insert((post.agent, post.id), post.clone());
            }
            Write::Read(post) => {
                self.inbox.remove(&(writer.ok_or(Refused)?, *post));
            }
            Write::Wake(wakeup) => {
                must(self.agent(wakeup.agent).is_some())?;
                self.wakeups.insert(wakeup.id, wakeup.clone());
            }
            Write::Woken(id) => {
                let agent = writer.ok_or(Refused)?;
                self.wakeups.retain(|_, wakeup| wakeup.id != *id || wakeup.agent != agent);
            }
            Write::Task(_) | Write::Question(_) | Write::Intervention(_) | Write::Entity(_) => {
                let entity = write.entity().ok().flatten().ok_or(Refused)?;
                let same = |other: &Entity| (other.kind, &other.id) == (entity.kind, &entity.id);
                must(!self.entities.iter().any(|other| same(other) && other.owner != entity.owner))?;
                put(&mut self.entities, &entity, same);
            }
        }
        Ok(())
    }

    /// The row of the writer says how many items it has; if the commit wrote it, it said so itself.
    fn count(&mut self, commit: &Commit, writer: Option<&Agent>) -> Result<()> {
        let Some(writer) = writer else { return Ok(()) };
        let items = self.items.iter().filter(|item| item.agent == writer.id).count() as u64;
        let told = commit.writes.iter().any(|write| matches!(write, Write::Agent(_)));
        let agent = self.agents.iter_mut().find(|agent| agent.id == writer.id).ok_or(Refused)?;
        must(!told || agent.items == items)?;
        agent.items = items;
        Ok(())
    }

    /// Every item told has been written, which the derivation alone does not show.
    pub(crate) fn told_items(&self) -> usize {
        self.events.iter().filter(|event| matches!(event.body, EventBody::Item { .. })).count()
    }
}
