//! Everything that a store keeps, read once.

use std::collections::{BTreeMap, BTreeSet};

use entourage_store::{AgentQuery, EntityQuery, ItemQuery, Page, Result, RunQuery, Store, Subtree};
use entourage_types::{
    Agent, AgentId, Budget, BudgetId, EntityKind, Event, Goal, Item, Kind, Parent, Post, Question, Record,
    Run, RunId, Schedule, Scope, Step, Task, TaskId, Time, Tombstone, Wakeup,
};

/// Everything that a store keeps and an audit examines.
pub(super) struct Snapshot {
    pub(super) agents: Vec<Agent>,
    pub(super) items: BTreeMap<AgentId, Vec<Item>>,
    pub(super) runs: Vec<Run>,
    pub(super) steps: BTreeMap<RunId, Vec<Step>>,
    pub(super) inbox: BTreeMap<AgentId, Vec<Post>>,
    pub(super) wakeups: Vec<Wakeup>,
    pub(super) tasks: Vec<Task>,
    pub(super) questions: Vec<Question>,
    pub(super) schedules: Vec<Schedule>,
    pub(super) goals: Vec<Goal>,
    pub(super) tombstones: Vec<Tombstone>,
    /// The sums over each agent and all below it.
    pub(super) branches: Vec<(AgentId, Subtree)>,
    /// The budgets of trees.
    pub(super) budgets: Vec<Budget>,
    /// The versions of kinds with which runs began.
    pub(super) kinds: BTreeMap<String, Kind>,
    /// What is left of forgotten agents.
    pub(super) left: Vec<(AgentId, String)>,
    /// The digests of the stored lists of tools.
    pub(super) tool_lists: BTreeSet<String>,
    /// By the root of their tree.
    pub(super) events: BTreeMap<AgentId, Vec<Event>>,
}

impl Snapshot {
    pub(super) async fn read(store: &dyn Store) -> Result<Self> {
        let page = || Page { limit: u32::MAX, ..Page::default() };
        let query = AgentQuery { page: page(), ..AgentQuery::default() };
        let agents = store.agents(&Scope::All, query).await?;
        let runs = store.runs(&Scope::All, RunQuery { page: page(), ..RunQuery::default() }).await?;
        let (mut items, mut inbox, mut events) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for agent in &agents {
            let query = ItemQuery::of(agent.id, 0, u32::MAX);
            items.insert(agent.id, store.items(&Scope::All, query).await?);
            inbox.insert(agent.id, store.inbox(agent.id).await?);
            if agent.root == agent.id {
                events.insert(agent.id, all_events(store, agent.id).await?);
            }
        }
        let ids: Vec<AgentId> = agents.iter().map(|agent| agent.id).collect();
        let mut budgets = Vec::new();
        for root in agents.iter().filter(|agent| agent.root == agent.id) {
            budgets.extend(store.budget(&Scope::All, &BudgetId::Tree(root.id)).await?);
        }
        let mut steps = BTreeMap::new();
        for run in &runs {
            steps.insert(run.id, store.steps(&Scope::All, run.id).await?);
        }
        let tombstones = records(store).await?;
        Ok(Self {
            left: left_of(store, &tombstones).await?,
            kinds: kinds(store).await?,
            wakeups: store.due(Time::from_micros(i64::MAX), None, u32::MAX).await?,
            tasks: records(store).await?,
            questions: records(store).await?,
            schedules: records(store).await?,
            goals: records(store).await?,
            tombstones,
            branches: store.subtrees(&Scope::All, &ids).await?,
            budgets,
            tool_lists: tool_lists(store).await?,
            agents,
            items,
            runs,
            steps,
            inbox,
            events,
        })
    }

    pub(super) fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.id == id)
    }

    /// Whether an agent was forgotten while its tree lived on.
    pub(super) fn is_forgotten(&self, id: AgentId) -> bool {
        self.tombstones.iter().any(|tombstone| tombstone.of == Parent::Agent(id))
    }

    /// Whether an agent assigned a task, which may be forgotten by now.
    pub(super) fn assigned(&self, agent: AgentId, task: TaskId) -> bool {
        let of = Parent::Record(Task::KIND, task.to_string());
        self.tasks.iter().any(|row| row.id == task && row.from == agent)
            || self.tombstones.iter().any(|tombstone| tombstone.agent == agent && tombstone.of == of)
    }

    pub(super) fn items(&self, agent: AgentId) -> &[Item] {
        self.items.get(&agent).map_or(&[], Vec::as_slice)
    }

    /// The items that runs of this engine wrote: a transcript may begin with messages from
    /// elsewhere.
    pub(super) fn written(&self, agent: AgentId) -> impl Iterator<Item = &Item> {
        let runs: BTreeSet<_> = self.runs.iter().filter(|run| run.agent == agent).map(|run| run.id).collect();
        self.items(agent).iter().filter(move |item| runs.contains(&item.run))
    }

    pub(super) fn steps(&self, run: RunId) -> &[Step] {
        self.steps.get(&run).map_or(&[], Vec::as_slice)
    }

    pub(super) fn inbox(&self, agent: AgentId) -> &[Post] {
        self.inbox.get(&agent).map_or(&[], Vec::as_slice)
    }

    /// Whether any wake-up of an agent is left.
    pub(super) fn has_wakeups(&self, agent: AgentId) -> bool {
        self.wakeups.iter().any(|wakeup| wakeup.agent == agent)
    }

    /// Whether an agent is woken for its work, not by a schedule.
    pub(super) fn is_woken(&self, agent: AgentId) -> bool {
        self.wakeups.iter().any(|wakeup| wakeup.agent == agent && wakeup.schedule.is_none())
    }
}

/// What is left of the agents that were forgotten, beside what other agents have of them.
async fn left_of(store: &dyn Store, tombstones: &[Tombstone]) -> Result<Vec<(AgentId, String)>> {
    let page = || Page { limit: 1, ..Page::default() };
    let mut left = Vec::new();
    for tombstone in tombstones {
        let Parent::Agent(gone) = tombstone.of else { continue };
        if !store.items(&Scope::All, ItemQuery::of(gone, 0, 1)).await?.is_empty() {
            left.push((gone, "items".to_owned()));
        }
        if !store.inbox(gone).await?.is_empty() {
            left.push((gone, "posts".to_owned()));
        }
        for noun in EntityKind::KNOWN {
            let of = EntityQuery { parent: Some(gone.into()), page: page(), ..EntityQuery::of(*noun) };
            if !store.entities(&Scope::All, of).await?.is_empty() {
                left.push((gone, format!("a {noun}")));
            }
        }
    }
    Ok(left)
}

/// All stored versions of kinds, by their ids.
async fn kinds(store: &dyn Store) -> Result<BTreeMap<String, Kind>> {
    let query = EntityQuery { page: Page::all(), ..EntityQuery::of(EntityKind::KIND) };
    let stored = store.entities(&Scope::All, query).await?.into_iter();
    Ok(stored.filter_map(|kind| Some((kind.id, serde_json::from_str(&kind.body).ok()?))).collect())
}

/// The ids of all stored lists of tools.
async fn tool_lists(store: &dyn Store) -> Result<BTreeSet<String>> {
    let page = Page { limit: u32::MAX, ..Page::default() };
    let query = EntityQuery { page, ..EntityQuery::of(EntityKind::TOOL_LIST) };
    Ok(store.entities(&Scope::All, query).await?.into_iter().map(|list| list.id).collect())
}

async fn records<R: Record>(store: &dyn Store) -> Result<Vec<R>> {
    let page = Page { limit: u32::MAX, ..Page::default() };
    let found = store.entities(&Scope::All, EntityQuery { page, ..EntityQuery::records::<R>() }).await?;
    Ok(found.iter().map(R::from_entity).collect::<serde_json::Result<_>>()?)
}

/// The events of a tree, however many there are.
async fn all_events(store: &dyn Store, root: AgentId) -> Result<Vec<Event>> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let last = events.last().map_or(0, |last| last.seq);
        let more = store.events(&Scope::All, root, last, u32::MAX).await?;
        if more.is_empty() {
            return Ok(events);
        }
        events.extend(more);
    }
}
