//! The rows, and what a claim and a commit do to them.

use std::collections::BTreeMap;

use entourage_types::{
    Agent, AgentId, Entity, EntityKind, Event, EventBody, Item, Post, PostId, Run, RunId, Spent, Status,
    Step, Wakeup, WakeupId,
};

use crate::{Claim, Commit, Committed, Error, Expect, Result, Spender, Write, derive};

/// All rows, each sort in the order it was made.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) agents: Vec<Agent>,
    pub(super) runs: Vec<Run>,
    pub(super) entities: Vec<Entity>,
    /// What runs that were removed used, for their owners.
    pub(super) removed: Vec<(Spender, Vec<Spent>)>,
    items: BTreeMap<AgentId, Vec<Item>>,
    steps: BTreeMap<RunId, Vec<Step>>,
    inbox: BTreeMap<AgentId, BTreeMap<PostId, Post>>,
    wakeups: BTreeMap<WakeupId, Wakeup>,
    events: BTreeMap<AgentId, Vec<Event>>,
}

/// What a commit did, told, and whom it woke.
type Done = (Committed, Vec<Event>, Vec<Wakeup>);

fn put<T>(rows: &mut Vec<T>, row: T, same: impl Fn(&T, &T) -> bool) {
    match rows.iter_mut().rfind(|other| same(other, &row)) {
        Some(found) => *found = row,
        None => rows.push(row),
    }
}

fn all<K: Ord, T>(rows: &BTreeMap<K, Vec<T>>, of: K) -> &[T] {
    rows.get(&of).map_or(&[], Vec::as_slice)
}

impl Rows {
    pub(super) fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.id == id)
    }

    pub(super) fn entity(&self, kind: EntityKind, id: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| (entity.kind, entity.id.as_str()) == (kind, id))
    }

    pub(super) fn items(&self, agent: AgentId) -> &[Item] {
        all(&self.items, agent)
    }

    pub(super) fn steps(&self, run: RunId) -> &[Step] {
        all(&self.steps, run)
    }

    pub(super) fn events(&self, root: AgentId) -> &[Event] {
        all(&self.events, root)
    }

    pub(super) fn posts(&self, agent: AgentId) -> Vec<Post> {
        self.inbox.get(&agent).map(|posts| posts.values().cloned().collect()).unwrap_or_default()
    }

    pub(super) fn has_posts(&self, agent: AgentId) -> bool {
        self.inbox.get(&agent).is_some_and(|posts| !posts.is_empty())
    }

    pub(super) fn is_woken(&self, agent: AgentId) -> bool {
        self.wakeups.values().any(|wakeup| wakeup.agent == agent)
    }

    /// All wake-ups, in the order in which they are due.
    pub(super) fn wakeups(&self) -> Vec<Wakeup> {
        let mut wakeups: Vec<Wakeup> = self.wakeups.values().cloned().collect();
        wakeups.sort_by_key(|wakeup| (wakeup.due, wakeup.id));
        wakeups
    }

    pub(super) fn claim(&mut self, id: AgentId, from: u64) -> Option<Claim> {
        let agent = self.agents.iter_mut().find(|agent| agent.id == id)?;
        agent.epoch += 1;
        let agent = agent.clone();
        let last = self.runs.iter().rfind(|run| run.agent == id);
        let run = last.filter(|run| !run.status.is_terminal()).cloned();
        let wanted = |item: &&Item| item.session == agent.session && item.seq >= from;
        Some(Claim {
            steps: run.as_ref().map_or_else(Vec::new, |run| self.steps(run.id).to_vec()),
            run,
            items: self.items(id).iter().filter(wanted).cloned().collect(),
            inbox: self.posts(id),
            wakeups: self.wakeups().into_iter().filter(|wakeup| wakeup.agent == id).collect(),
            agent,
        })
    }

    /// All of it is checked before anything is written, so that a refusal undoes nothing.
    pub(super) fn commit(&mut self, commit: Commit) -> Result<Done> {
        let writer = self.writer(&commit)?;
        for expected in &commit.expect {
            self.expect(expected)?;
        }
        commit.keeps_the_rules(writer.as_ref())?;
        if let Some(writer) = &writer {
            let is_own = |id: &RunId| self.runs.iter().any(|run| (run.id, run.agent) == (*id, writer.id));
            if let Some(run) = commit.runs_of_steps().find(|run| !is_own(run)) {
                return Err(Error::foreign_step(writer.id, run));
            }
        }
        self.may_write(&commit.writes)?;
        let told = derive::events(&commit, writer.as_ref());
        let is_left = |root: AgentId| {
            let is_made = |write: &Write| matches!(write, Write::NewAgent(agent) if agent.id == root);
            let is_gone = |write: &Write| matches!(write, Write::PruneAgent(agent) if *agent == root);
            (self.agent(root).is_some() || commit.writes.iter().any(is_made))
                && !commit.writes.iter().any(is_gone)
        };
        if let Some((root, ..)) = told.iter().find(|(root, ..)| !is_left(*root)) {
            return Err(Error::NoAgent { agent: *root });
        }
        let mut wakeups = Vec::new();
        for write in commit.writes {
            if let Write::Wake(wakeup) = &write {
                wakeups.push(wakeup.clone());
            }
            self.write(write, writer.as_ref())?;
        }
        let mut events = Vec::with_capacity(told.len());
        for (root, agent, body) in told {
            let of_tree = self.events.entry(root).or_default();
            let seq = of_tree.last().map_or(0, |last| last.seq) + 1;
            let event = Event { root, seq, agent, at: commit.at, body };
            of_tree.push(event.clone());
            events.push(event);
        }
        let inbox = writer.is_some_and(|agent| self.has_posts(agent.id));
        Ok((Committed { inbox }, events, wakeups))
    }

    fn writer(&self, commit: &Commit) -> Result<Option<Agent>> {
        let Some(fence) = commit.fence else { return Ok(None) };
        match self.agent(fence.agent) {
            None => Err(Error::NoAgent { agent: fence.agent }),
            Some(agent) if agent.epoch != fence.epoch => Err(Error::Fenced { agent: fence.agent }),
            Some(agent) => Ok(Some(agent.clone())),
        }
    }

    fn count_agents(&self, fits: impl Fn(&Agent) -> bool) -> u32 {
        u32::try_from(self.agents.iter().filter(|agent| fits(agent)).count()).unwrap_or(u32::MAX)
    }

    fn expect(&self, expected: &Expect) -> Result<()> {
        match expected {
            Expect::Agent(id) => self.agent(*id).map(|_| ()).ok_or(Error::NoAgent { agent: *id }),
            Expect::Absent(kind, id) => match self.entity(*kind, id) {
                Some(_) => Err(Error::Exists { kind: *kind, id: id.clone() }),
                None => Ok(()),
            },
            Expect::Status(kind, id, status) => {
                let found = self.entity(*kind, id).map_or("missing", |entity| &entity.status);
                if found == *status {
                    return Ok(());
                }
                let (expected, found) = ((*status).to_owned(), found.to_owned());
                Err(Error::NotInStatus { kind: *kind, id: id.clone(), expected, found })
            }
            Expect::TreeBelow(root, limit) => {
                let found = self.count_agents(|agent| agent.root == *root);
                let full = Error::TreeFull { root: *root, found, limit: *limit };
                if found < *limit { Ok(()) } else { Err(full) }
            }
            Expect::ChildrenBelow(parent, limit) => {
                let found = self.count_agents(|agent| agent.parent == Some(*parent));
                let full = Error::TooManyChildren { parent: *parent, found, limit: *limit };
                if found < *limit { Ok(()) } else { Err(full) }
            }
            Expect::AtRest(root, since) => {
                let stirs = |agent: &Agent| {
                    matches!(agent.status, Status::Queued | Status::Running | Status::Waiting)
                        || agent.updated > *since
                        || self.inbox.get(&agent.id).is_some_and(|posts| !posts.is_empty())
                        || self.wakeups.values().any(|wakeup| wakeup.agent == agent.id)
                };
                match self.agents.iter().any(|agent| agent.root == *root && stirs(agent)) {
                    true => Err(Error::NotAtRest { root: *root }),
                    false => Ok(()),
                }
            }
        }
    }

    /// What the rows that are there forbid: a second agent of one id or key, a post to nobody, an
    /// entity that passes to another owner.
    fn may_write(&self, writes: &[Write]) -> Result<()> {
        let (mut agents, mut entities): (Vec<&Agent>, Vec<Entity>) = (Vec::new(), Vec::new());
        let mut pruned: Vec<AgentId> = Vec::new();
        for write in writes {
            let addressee = match write {
                Write::NewAgent(new) => {
                    let taken = |agent: &&Agent| {
                        agent.id == new.id
                            || (new.key.is_some() && (agent.root, &agent.key) == (new.root, &new.key))
                    };
                    if let Some(agent) = self.agents.iter().chain(agents.iter().copied()).find(taken) {
                        return Err(Error::AgentExists { agent: agent.id });
                    }
                    agents.push(new);
                    continue;
                }
                Write::Forget(wakeup) => match self.agent(wakeup.agent) {
                    Some(_) => return Err(Error::has_its_agent(wakeup)),
                    None => continue,
                },
                Write::Post(post) => post.agent,
                Write::Wake(wakeup) => wakeup.agent,
                Write::PruneAgent(agent) => {
                    let depends = |other: &Agent| {
                        other.parent == Some(*agent) || (other.root == *agent && other.id != *agent)
                    };
                    let stays = |other: &&Agent| depends(other) && !pruned.contains(&other.id);
                    if let Some(child) = self.agents.iter().find(stays) {
                        return Err(Error::Corrupt(format!("agent {} would lose its parent", child.id)));
                    }
                    pruned.push(*agent);
                    *agent
                }
                other => {
                    let Some(entity) = other.entity()? else { continue };
                    let theirs = |other: &&Entity| {
                        (other.kind, &other.id) == (entity.kind, &entity.id) && other.owner != entity.owner
                    };
                    if self.entities.iter().chain(&entities).any(|other| theirs(&other)) {
                        return Err(Error::Exists { kind: entity.kind, id: entity.id });
                    }
                    entities.push(entity);
                    continue;
                }
            };
            if self.agent(addressee).is_none() && !agents.iter().any(|agent| agent.id == addressee) {
                return Err(Error::NoAgent { agent: addressee });
            }
        }
        Ok(())
    }

    fn write(&mut self, write: Write, writer: Option<&Agent>) -> Result<()> {
        match write {
            Write::NewAgent(agent) => self.agents.push(agent),
            Write::Agent(row) => {
                let row = |agent: &Agent| Agent { epoch: agent.epoch, items: agent.items, ..row.clone() };
                self.agents
                    .iter_mut()
                    .filter(|agent| writer.is_some_and(|own| own.id == agent.id))
                    .for_each(|agent| *agent = row(agent));
            }
            Write::Item(item) => {
                let agents = self.agents.iter_mut().filter(|agent| agent.id == item.agent);
                agents.for_each(|agent| agent.items = item.seq + 1);
                self.items.entry(item.agent).or_default().push(item);
            }
            Write::Run(run) => put(&mut self.runs, run, |one, other| one.id == other.id),
            Write::Step(step) => {
                put(self.steps.entry(step.run).or_default(), step, |one, other| one.key == other.key);
            }
            Write::Post(post) => {
                self.inbox.entry(post.agent).or_default().insert(post.id, post);
            }
            Write::Read(post) => {
                if let Some(posts) = writer.and_then(|own| self.inbox.get_mut(&own.id)) {
                    posts.remove(&post);
                }
            }
            Write::Wake(wakeup) => {
                self.wakeups.insert(wakeup.id, wakeup);
            }
            Write::Woken(id) => {
                let own = |wakeup: &Wakeup| writer.is_some_and(|own| own.id == wakeup.agent);
                if self.wakeups.get(&id).is_some_and(own) {
                    self.wakeups.remove(&id);
                }
            }
            Write::Forget(wakeup) => {
                self.wakeups.remove(&wakeup.id);
            }
            Write::PruneEvents(root, below) => {
                if let Some(events) = self.events.get_mut(&root) {
                    let last = events.last().map_or(0, |last| last.seq);
                    events.retain(|event| event.seq >= below.min(last));
                }
            }
            Write::PruneAgent(id) => self.prune(id),
            Write::PruneEntity(kind, id) => {
                self.entities.retain(|kept| kept.root.is_some() || (kept.kind, &kept.id) != (kind, &id));
            }
            entity => {
                if let Some(entity) = entity.entity()? {
                    let same = |one: &Entity, other: &Entity| (one.kind, &one.id) == (other.kind, &other.id);
                    put(&mut self.entities, entity, same);
                }
            }
        }
        Ok(())
    }

    fn prune(&mut self, id: AgentId) {
        let kind = self.agent(id).map(|agent| agent.kind.clone());
        self.agents.retain(|agent| agent.id != id);
        let of_agent = self.runs.iter().filter(|run| run.agent == id);
        self.removed.extend(of_agent.map(|run| {
            let (owner, kind) = (run.owner.clone(), kind.clone());
            (Spender { owner, kind, tree: None, agent: None, run: None }, run.spent.clone())
        }));
        self.runs.retain(|run| run.agent != id);
        self.steps.retain(|run, _| self.runs.iter().any(|kept| kept.id == *run));
        self.wakeups.retain(|_, wakeup| wakeup.agent != id);
        self.items.remove(&id);
        self.inbox.remove(&id);
        self.events.remove(&id);
        // Events of the tree name items by their number; the items are gone.
        for event in self.events.values_mut().flatten().filter(|event| event.agent == id) {
            if let EventBody::Item { item, .. } = &mut event.body {
                *item = None;
            }
        }
        self.entities.retain(|entity| entity.root != Some(id));
    }
}
