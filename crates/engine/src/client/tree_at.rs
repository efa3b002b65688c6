//! A tree as it was after one of its events, derived from the events up to that one and from nothing else.

use std::collections::{HashMap, HashSet};

use entourage_store::EventQuery;
use entourage_types::{
    AgentId, Cost, EntityKind, Event, EventBody, EventName, Parent, RunId, ShownStatus, Status, StopReason,
    Time, Tombstone, Usage, WaitingOn,
};

use super::{Client, events::SCANNED};
use crate::{Error, Result};

/// The names of the events that say how the agents of a tree stand, in the order in which those of a page are applied:
/// an agent is created before its status changes, and forgotten after that: `record` stands for all nouns without an event
/// of their own, among them tombstones. Items, the bulk of a tree's events, are not read.
const OF_AGENTS: [EventName; 4] =
    [EventName::AgentCreated, EventName::AgentStatus, EventName::Run, EventName::Record];

/// How many events one read returns at most.
const PAGE: u32 = 1_000;

/// A tree as it was after one of its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastTree {
    /// Its root.
    pub root: AgentId,
    /// The number of the event.
    pub at: u64,
    /// When that was committed.
    pub time: Time,
    /// The number of the tree's last event so far.
    pub last: u64,
    /// The agents that there were, without those that were forgotten by then, parents before children.
    pub agents: Vec<PastAgent>,
}

/// An agent as it was after an event of its tree: as much as events tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastAgent {
    /// Its id.
    pub id: AgentId,
    /// The agent above it.
    pub parent: Option<AgentId>,
    /// The number of its ancestors.
    pub depth: u16,
    /// The name of its kind.
    pub kind: String,
    /// What it was for.
    pub title: String,
    /// Its status, as users saw it.
    pub status: ShownStatus,
    /// What it waited for, if it did.
    pub waiting_on: Option<WaitingOn>,
    /// Why its last run failed or was stopped, if it was.
    pub stop_reason: Option<StopReason>,
    /// When it was created.
    pub created: Time,
    /// Since when it had this status.
    pub since: Time,
    /// The tokens of its runs. Of a run under way, only those up to its last change of status: events do not record
    /// later calls.
    pub usage: Usage,
    /// What they cost, as far as prices were known.
    pub cost: Cost,
}

impl Client {
    /// The tree that an agent belongs to, as it was after the event with this number. Reads the tree's events up to that
    /// one in pages, and keeps the agents.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Invalid`] for a number that no event has yet; [`Error::PastGone`] if events up to
    /// it were pruned.
    pub async fn tree_at(&self, of: AgentId, at: u64) -> Result<PastTree> {
        let root = self.agent(of).await?.root;
        let last = self.last_event(root).await?;
        if at == 0 || at > last {
            return Err(Error::Invalid(format!(
                "tree {root} has no event with number {at}: its events have the numbers 1 to {last}"
            )));
        }
        let begins = self.first_event(root, at).await?;
        let mut past = Past::default();
        let mut after = 0;
        while after < at {
            let end = at.min(after.saturating_add(SCANNED));
            for name in OF_AGENTS {
                self.apply(&mut past, root, name, after, end).await?;
            }
            after = end;
        }
        let query = EventQuery { before: Some(at.saturating_add(1)), ..EventQuery::of(root, at - 1, 1) };
        let event = self.engine.store().select_events(&self.scope, query).await?.pop();
        // Events that were pruned meanwhile were not read.
        let first = self.first_event(root, at).await?;
        match event {
            Some(Event { at: time, .. }) if first == begins => {
                Ok(PastTree { root, at, time, last, agents: past.remembered() })
            }
            _ => Err(Error::PastGone { root, at, first: first.seq }),
        }
    }

    /// The first event of a tree, from which all of its past follows.
    async fn first_event(&self, root: AgentId, at: u64) -> Result<Event> {
        let first = self.engine.store().events(&self.scope, root, 0, 1).await?.pop();
        match first {
            Some(first) if first.seq == 1 => Ok(first),
            Some(first) => Err(Error::PastGone { root, at, first: first.seq }),
            None => Err(Error::not_found("agent", root)),
        }
    }

    /// Applies the events of a tree with this name and a number above `after` and up to `end`.
    async fn apply(
        &self,
        past: &mut Past,
        root: AgentId,
        name: EventName,
        after: u64,
        end: u64,
    ) -> Result<()> {
        let mut after = after;
        loop {
            let (before, name) = (Some(end.saturating_add(1)), Some(name));
            let query = EventQuery { before, name, ..EventQuery::of(root, after, PAGE) };
            let events = self.engine.store().select_events(&self.scope, query).await?;
            let Some(last) = events.last() else { return Ok(()) };
            after = last.seq;
            events.into_iter().for_each(|event| past.apply(event));
        }
    }
}

/// The agents of a tree, as far as events were applied.
#[derive(Debug, Default)]
struct Past {
    agents: Vec<PastAgent>,
    places: HashMap<AgentId, usize>,
    /// Of each agent that ran: its last run, and what the runs before it used.
    before: HashMap<AgentId, (RunId, Usage, Cost)>,
    forgotten: HashSet<AgentId>,
}

impl Past {
    fn apply(&mut self, event: Event) {
        let Event { agent: id, at, body, .. } = event;
        match body {
            EventBody::AgentCreated { parent, kind, title } => self.create(id, at, parent, kind, title),
            EventBody::AgentStatus { status, waiting_on, stop_reason } => {
                let Some(agent) = self.agent(id) else { return };
                agent.status = ShownStatus::of(status, stop_reason);
                (agent.waiting_on, agent.stop_reason, agent.since) = (waiting_on, stop_reason, at);
            }
            // A run reports all that it used so far, and an agent has one run at a time.
            EventBody::Run { run, usage, cost, .. } => {
                let Some(agent) = self.places.get(&id).map(|place| &mut self.agents[*place]) else { return };
                let before = self.before.entry(id).or_insert((run, Usage::default(), Cost::default()));
                if before.0 != run {
                    *before = (run, agent.usage, agent.cost);
                }
                (agent.usage, agent.cost) = (before.1, before.2);
                agent.usage += usage;
                agent.cost += cost;
            }
            EventBody::Record { kind, record, .. } if kind == EntityKind::TOMBSTONE.as_str() => {
                // That of a record inside an agent says nothing of the agent.
                let of_agent = |tombstone: &Tombstone| tombstone.of == Parent::from(tombstone.agent);
                let tombstone = serde_json::from_value(record).ok().filter(of_agent);
                self.forgotten.extend(tombstone.map(|tombstone| tombstone.agent));
            }
            _ => {}
        }
    }

    fn create(&mut self, id: AgentId, at: Time, parent: Option<AgentId>, kind: String, title: String) {
        let above = parent.and_then(|parent| self.agent(parent)).map(|above| above.depth.saturating_add(1));
        self.places.insert(id, self.agents.len());
        self.agents.push(PastAgent {
            id,
            parent,
            depth: above.unwrap_or_default(),
            kind,
            title,
            // An agent is created without work: its inbox gives it some.
            status: ShownStatus::of(Status::Idle, None),
            waiting_on: None,
            stop_reason: None,
            created: at,
            since: at,
            usage: Usage::default(),
            cost: Cost::default(),
        });
    }

    fn remembered(self) -> Vec<PastAgent> {
        let Self { mut agents, forgotten, .. } = self;
        agents.retain(|agent| !forgotten.contains(&agent.id));
        agents
    }

    fn agent(&mut self, id: AgentId) -> Option<&mut PastAgent> {
        self.places.get(&id).map(|place| &mut self.agents[*place])
    }
}
