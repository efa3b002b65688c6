//! The rows, and what a claim and a commit do to them.

mod facts;

use std::{collections::BTreeMap, iter};

use entourage_types::{
    Agent, AgentId, Amount, Budget, BudgetId, Entity, EntityKind, Event, HourlyUsage, Item, NewEvent, NodeId,
    Parent, Post, Run, RunId, Scope, Status, Step, Wakeup, WakeupId,
};

use crate::{
    BudgetChange, Claim, Commit, Committed, DAYS_KEPT, EntityQuery, EventQuery, Forgotten, RecentCommits,
    Result, SpentBy, Subtree, Write, derive::monotonic_time, judge::AcceptedCommit, words::number_of,
};

/// All rows, those of each type in the order of their first writes.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) agents: Vec<Agent>,
    pub(super) runs: Vec<Run>,
    pub(super) entities: Vec<Entity>,
    /// The usage of removed runs, by owner and kind.
    pub(super) removed: Vec<(SpentBy, Vec<HourlyUsage>)>,
    pub(super) items: BTreeMap<AgentId, Vec<Item>>,
    pub(super) steps: BTreeMap<RunId, Vec<Step>>,
    pub(super) inbox: BTreeMap<AgentId, Vec<Post>>,
    pub(super) wakeups: BTreeMap<WakeupId, Wakeup>,
    pub(super) events: BTreeMap<AgentId, Vec<Event>>,
    pub(super) budgets: BTreeMap<BudgetId, Budget>,
    reservations: BTreeMap<(BudgetId, AgentId), Amount>,
    pub(super) claims: BTreeMap<AgentId, Claims>,
    recent: RecentCommits,
}

/// The claims of an agent.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// How many there were since its last commit.
    unsettled: u64,
    /// The node of the last one.
    holder: Option<NodeId>,
}

/// The result, the events and the wake-ups of a commit.
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

    /// Whether a query selects an entity of its noun, whatever its words and its page say.
    pub(super) fn is_asked_for(&self, entity: &Entity, query: &EntityQuery) -> bool {
        (query.root.is_none() || query.root == entity.root)
            && (query.parent.is_none() || query.parent == entity.parent)
            && query.branch.is_none_or(|top| self.is_in_branch(entity, top))
            && query.name.as_ref().is_none_or(|name| entity.name.as_deref() == Some(name.as_str()))
            && query.number.is_none_or(|number| number_of(&entity.body) == Some(number))
            && query.since.is_none_or(|since| entity.updated >= since)
            && query.records.status().is_none_or(|status| status == entity.status)
    }

    /// Whether an entity belongs to this agent or to one below it.
    pub(super) fn is_in_branch(&self, entity: &Entity, top: AgentId) -> bool {
        let of = entity.parent.as_ref().and_then(Parent::agent);
        // Only an edited database has a circle of parents.
        let most = self.agents.len() + 1;
        iter::successors(of, |id| self.agent(*id)?.parent).take(most).any(|id| id == top)
    }

    pub(super) fn budget(&self, id: &BudgetId) -> Option<&Budget> {
        self.budgets.get(id)
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

    pub(super) fn select_events(&self, scope: &Scope, query: &EventQuery) -> Vec<Event> {
        if !self.agent(query.root).is_some_and(|agent| scope.sees(&agent.owner)) {
            return Vec::new();
        }
        let fits = |event: &&Event| {
            event.seq > query.after
                && query.before.is_none_or(|before| event.seq < before)
                && super::only(query.agent.as_ref(), &event.agent)
                && query.name.is_none_or(|name| name == event.body.name())
        };
        let (wanted, limit) = (self.events(query.root).iter().filter(fits).cloned(), query.limit as usize);
        if !query.latest {
            return wanted.take(limit).collect();
        }
        let mut nearest: Vec<Event> = wanted.rev().take(limit).collect();
        nearest.reverse();
        nearest
    }

    pub(super) fn posts(&self, agent: AgentId) -> Vec<Post> {
        all(&self.inbox, agent).to_vec()
    }

    pub(super) fn has_posts(&self, agent: AgentId) -> bool {
        self.inbox.get(&agent).is_some_and(|posts| !posts.is_empty())
    }

    /// Whether an agent is queued, at work or waiting, or has something to read.
    pub(super) fn is_active(&self, agent: &Agent) -> bool {
        match agent.status {
            Status::Queued | Status::Running | Status::Waiting => true,
            Status::Idle | Status::Succeeded | Status::Failed => self.has_posts(agent.id),
            Status::Cancelled => false,
        }
    }

    /// Whether a wake-up waits for an agent, beside those of its schedules.
    pub(super) fn is_woken(&self, agent: AgentId) -> bool {
        self.wakeups.values().any(|wakeup| wakeup.agent == agent && wakeup.schedule.is_none())
    }

    /// All wake-ups, in the order in which they are due.
    pub(super) fn wakeups(&self) -> Vec<Wakeup> {
        let mut wakeups: Vec<Wakeup> = self.wakeups.values().cloned().collect();
        wakeups.sort_by_key(|wakeup| (wakeup.due, wakeup.id));
        wakeups
    }

    pub(super) fn claim(&mut self, id: AgentId, from: u64, node: NodeId) -> Option<Claim> {
        let agent = self.agents.iter_mut().find(|agent| agent.id == id)?;
        agent.epoch = agent.epoch.next(0);
        let agent = agent.clone();
        let claims = self.claims.entry(id).or_default();
        let unsettled = claims.unsettled;
        claims.unsettled += 1;
        let taken_from = claims.holder.replace(node).filter(|holder| *holder != node);
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
            now: None,
            unsettled,
            taken_from,
        })
    }

    /// Applies a commit. Nothing is written before the commit is judged, so a refusal undoes nothing.
    pub(super) fn commit(&mut self, commit: Commit) -> Result<Done> {
        if let Some(committed) = self.recent.get(commit.id) {
            return Ok((committed, Vec::new(), Vec::new()));
        }
        let AcceptedCommit { writer, events: derived } = commit.judge(&mut &*self)?;
        let mut wakeups = Vec::new();
        let mut forgotten = Forgotten::by(&commit);
        for write in commit.writes {
            if let Write::ScheduleWakeup(wakeup) = &write {
                wakeups.push(wakeup.clone());
            }
            self.write(write, writer.as_ref(), &mut forgotten)?;
        }
        self.forget(&forgotten);
        let mut events = Vec::with_capacity(derived.len());
        for NewEvent { root, agent, body } in derived {
            let of_tree = self.events.entry(root).or_default();
            let (seq, at) = of_tree
                .last()
                .map_or((1, commit.at), |last| (last.seq + 1, monotonic_time(last.at, commit.at)));
            let event = Event { root, seq, agent, at, body };
            of_tree.push(event.clone());
            events.push(event);
        }
        if let Some(claims) = writer.as_ref().and_then(|agent| self.claims.get_mut(&agent.id)) {
            claims.unsettled = 0;
        }
        let committed = Committed { inbox: writer.is_some_and(|agent| self.has_posts(agent.id)) };
        self.recent.put(commit.id, committed);
        Ok((committed, events, wakeups))
    }

    /// Whether an agent is this one, or below it.
    pub(super) fn is_under(&self, agent: AgentId, top: AgentId) -> bool {
        let parent = |agent: &AgentId| self.agent(*agent).and_then(|agent| agent.parent);
        std::iter::successors(Some(agent), parent).any(|above| above == top)
    }

    /// Sums over an agent and all agents below it.
    pub(super) fn subtree(&self, top: AgentId) -> Subtree {
        let (mut sums, mut left) = (Subtree::default(), vec![top]);
        while let Some(id) = left.pop() {
            let Some(agent) = self.agent(id) else { continue };
            left.extend(self.agents.iter().filter(|other| other.parent == Some(id)).map(|other| other.id));
            sums.agents[agent.shown().index()] += 1;
            let is_open = |entity: &&Entity| {
                entity.kind == EntityKind::QUESTION
                    && entity.parent == Some(Parent::from(id))
                    && entity.status == "open"
            };
            sums.open_questions += self.entities.iter().filter(is_open).count() as u64;
            let own = self.runs.iter().filter(|run| run.agent == id);
            own.for_each(|run| sums.used += run.tally());
        }
        sums
    }

    fn count_agents(&self, fits: impl Fn(&Agent) -> bool) -> u32 {
        u32::try_from(self.agents.iter().filter(|agent| fits(agent)).count()).unwrap_or(u32::MAX)
    }

    fn write(&mut self, write: Write, writer: Option<&Agent>, forgotten: &mut Forgotten) -> Result<()> {
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
                let posts = self.inbox.entry(post.agent).or_default();
                posts.retain(|other| other.id != post.id);
                posts.push(post);
            }
            Write::ConsumePost(post) => {
                if let Some(posts) = writer.and_then(|own| self.inbox.get_mut(&own.id)) {
                    posts.retain(|other| other.id != post);
                }
            }
            Write::ScheduleWakeup(wakeup) => {
                self.wakeups.insert(wakeup.id, wakeup);
            }
            Write::ConsumeWakeup(id) => {
                let own = |wakeup: &Wakeup| writer.is_some_and(|own| own.id == wakeup.agent);
                if self.wakeups.get(&id).is_some_and(own) {
                    self.wakeups.remove(&id);
                }
            }
            Write::DropOrphanWakeup(wakeup) => {
                self.wakeups.remove(&wakeup.id);
            }
            Write::PruneEvents(root, below) => {
                if let Some(events) = self.events.get_mut(&root) {
                    let last = events.last().map_or(0, |last| last.seq);
                    events.retain(|event| event.seq >= below.min(last));
                }
            }
            Write::PruneAgent(id) => self.prune(id, forgotten),
            Write::PruneEntity(kind, id) => {
                self.prune_records(|record| (record.kind, &record.id) == (kind, &id), forgotten);
            }
            Write::Record(mut entity, _) => {
                entity.version = self.entity(entity.kind, &entity.id).map_or(0, |known| known.version) + 1;
                let same = |one: &Entity, other: &Entity| (one.kind, &one.id) == (other.kind, &other.id);
                put(&mut self.entities, entity, same);
            }
            Write::Budget(change) => self.change(&change, writer),
        }
        Ok(())
    }

    fn change(&mut self, change: &BudgetChange, writer: Option<&Agent>) {
        match (change, writer) {
            (BudgetChange::Granted { tree, owner, .. }, _) => {
                let budget = BudgetId::Tree(*tree);
                let unused = || Budget::unused(budget.clone(), owner.clone());
                change.apply(self.budgets.entry(budget.clone()).or_insert_with(unused), None);
            }
            (BudgetChange::Reserve { budget, .. }, Some(writer)) => {
                let holder = (budget.clone(), writer.id);
                if let (false, BudgetId::Day(day, _)) = (self.budgets.contains_key(budget), budget) {
                    let first = day.before(DAYS_KEPT);
                    self.budgets.retain(|id, _| !matches!(id, BudgetId::Day(day, _) if *day < first));
                }
                let unused = || Budget::unused(budget.clone(), writer.owner.clone());
                let row = self.budgets.entry(budget.clone()).or_insert_with(unused);
                if let Some(held) = change.apply(row, self.reservations.remove(&holder)) {
                    self.reservations.insert(holder, held);
                }
            }
            (BudgetChange::Settle { .. }, Some(writer)) => self.settle(writer.id, change),
            // Not reached: an outsider only grants.
            (_, None) => {}
        }
    }

    pub(super) fn settle(&mut self, agent: AgentId, settle: &BudgetChange) {
        let budgets = &mut self.budgets;
        self.reservations.retain(|(budget, holder), held| {
            if let Some(row) = budgets.get_mut(budget).filter(|_| *holder == agent) {
                settle.apply(row, Some(*held));
            }
            *holder != agent
        });
    }

    /// Whether an agent has not ended, or has something to read.
    fn lives(&self, agent: &Agent) -> bool {
        !agent.status.is_terminal() || self.has_posts(agent.id)
    }
}
