//! Finding agents, runs and tasks by what people ask for.

use std::collections::{HashMap, HashSet};

use entourage_store::{AgentQuery, Page, RecordFilter, RunQuery, Subtree};
use entourage_types::{Agent, AgentId, Run, RunId, ShownStatus, Status, StopReason, Task, WaitingOn};

use super::{Client, Narrowed, bounded_scan::narrowed};
use crate::Result;

/// At how many agents, runs and tasks a page looks.
const AGENTS: u32 = 4_000;
const RUNS: u32 = 2_000;
const TASKS: u32 = 4_000;
/// Up to so many agents, the runs of a tree are found by its agents.
const FEW_AGENTS: u32 = 256;
/// How many runs are read at once in the search for the agents that began to work last, and how many in all.
const LATEST: u32 = 100;
const LATEST_IN_ALL: u32 = 400;

/// Which agents.
#[derive(Debug, Clone, Default)]
pub struct AgentFilter {
    /// Only those that people created.
    pub roots: bool,
    /// In this status.
    pub status: Option<ShownStatus>,
    /// Of this tree.
    pub root: Option<AgentId>,
    /// Children of this agent.
    pub parent: Option<AgentId>,
    /// Of this kind.
    pub kind: Option<String>,
    /// That wait on this.
    pub waiting_on: Option<WaitingOn>,
    /// With each of these words in the title.
    pub title: Option<String>,
    /// With something in their inbox.
    pub unread: bool,
    /// Which page.
    pub page: Page,
}

/// Which runs.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Of the agents of this tree.
    pub root: Option<AgentId>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// Of agents of this kind.
    pub kind: Option<String>,
    /// That started with this version of their kind.
    pub version: Option<String>,
    /// In this status.
    pub status: Option<ShownStatus>,
    /// That stopped for this reason.
    pub stop_reason: Option<StopReason>,
    /// Which page.
    pub page: Page,
}

/// A child of an agent, and the sums over it and all agents below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// The child.
    pub agent: Agent,
    /// The sums.
    pub subtree: Subtree,
}

impl AgentFilter {
    /// The query, and the wider one that an index serves.
    fn queries(self) -> (AgentQuery, Option<AgentQuery>) {
        let Self { roots, status, root, parent, kind, waiting_on, title, unread, page } = self;
        // Only an agent that waits waits on something.
        let status = status.or(waiting_on.map(|_| ShownStatus::Waiting));
        let of_some = root.is_some() || parent.is_some();
        let wide = AgentQuery {
            roots,
            root,
            parent,
            unread,
            // No index has the agents that have not begun.
            status: status.filter(|status| !of_some && *status != ShownStatus::Idle),
            // The index of roots by their kind.
            kind: kind.clone().filter(|_| roots && !of_some && status.is_none()),
            ..AgentQuery::default()
        };
        let narrow = AgentQuery { status, kind, waiting_on, title, page, ..wide.clone() };
        let is_served = AgentQuery { page: Page::default(), ..narrow.clone() } == wide;
        (narrow, (!is_served && !unread).then_some(wide))
    }
}

impl Client {
    /// A page of the agents that a filter selects. It looks at a bounded number of agents.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_agents(&self, filter: AgentFilter) -> Result<Narrowed<Agent>> {
        let (narrow, wide) = filter.queries();
        let (store, looks) = (self.engine.store(), wide.is_some().then_some(AGENTS));
        let wide = wide.unwrap_or_default();
        let read = |query: &AgentQuery, page| store.agents(&self.scope, AgentQuery { page, ..query.clone() });
        let page = narrow.page.clone();
        narrowed(page, looks, |page| read(&wide, page), |page| read(&narrow, page), |row| row.id.to_string())
            .await
    }

    /// A page of agents that have run, those that began to work last first. Its cursors are ids of runs.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn latest_agents(&self, filter: AgentFilter) -> Result<Narrowed<Agent>> {
        let (store, wanted) = (self.engine.store(), filter.page.limit as usize);
        let (mut rows, mut seen, mut after) = (Vec::new(), HashSet::new(), filter.page.after.clone());
        for _ in 0..LATEST_IN_ALL / LATEST {
            let page = Page { after: after.clone(), limit: LATEST, newest_first: true, ..Page::default() };
            let runs = store.runs(&self.scope, RunQuery { page, ..RunQuery::default() }).await?;
            let is_last = runs.len() < LATEST as usize;
            for run in runs {
                after = Some(run.id.to_string());
                if seen.insert(run.agent)
                    && let Some(agent) = store.agent(&self.scope, run.agent).await?
                    && filter.takes(&agent)
                    && self.engine.last_run(&agent).await?.is_some_and(|last| last.id == run.id)
                {
                    rows.push(agent);
                    if rows.len() == wanted {
                        return Ok(Narrowed { rows, next: after });
                    }
                }
            }
            if is_last {
                return Ok(Narrowed { rows, next: None });
            }
        }
        Ok(Narrowed { rows, next: after })
    }

    /// A page of the runs that a filter selects. It looks at a bounded number of runs.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_runs(&self, filter: RunFilter) -> Result<Narrowed<Run>> {
        let RunFilter { root, mut agent, kind, version, status, stop_reason, page } = filter;
        let mut is_large = false;
        if let Some(root) = root.filter(|_| agent.is_none()) {
            let few = Page { limit: 2, ..Page::default() };
            let tree = |page| AgentQuery { root: Some(root), page, ..AgentQuery::default() };
            if let [only] = &self.engine.store().agents(&self.scope, tree(few)).await?[..] {
                agent = Some(only.id);
            }
            let beyond = Page { skip: FEW_AGENTS, limit: 1, ..Page::default() };
            is_large = !self.engine.store().agents(&self.scope, tree(beyond)).await?.is_empty();
        }
        let of_few = agent.is_some() || (root.is_some() && !is_large);
        let is_indexed = |status: ShownStatus| !status.is_terminal() || status == ShownStatus::Failed;
        let wide = RunQuery {
            agent,
            root: root.filter(|_| of_few && agent.is_none()),
            of_large_tree: root.is_some() && !of_few,
            status: status.filter(|status| !of_few && stop_reason.is_none() && is_indexed(*status)),
            stop_reason: stop_reason.filter(|reason| !of_few && *reason != StopReason::Completed),
            ..RunQuery::default()
        };
        let narrow = RunQuery { agent, root, kind, version, status, stop_reason, page, ..wide.clone() };
        let is_served = RunQuery { page: Page::default(), ..narrow.clone() } == wide;
        let (store, looks) = (self.engine.store(), (!is_served).then_some(RUNS));
        let read = |query: &RunQuery, page| store.runs(&self.scope, RunQuery { page, ..query.clone() });
        let page = narrow.page.clone();
        narrowed(page, looks, |page| read(&wide, page), |page| read(&narrow, page), |row| row.id.to_string())
            .await
    }

    /// A page of tasks, of one tree or of all, in one status or in any. It looks at a bounded number of tasks.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_tasks(
        &self,
        root: Option<AgentId>,
        status: Option<Status>,
        page: Page,
    ) -> Result<Narrowed<Task>> {
        // No index finds the tasks of a tree by their status.
        let looks = (root.is_some() && status.is_some()).then_some(TASKS);
        let store = self.engine.store();
        let read = |status, page| {
            let filter = RecordFilter { root, status, page, ..RecordFilter::default() };
            store.records(&self.scope, filter)
        };
        let id = |task: &Task| task.id.to_string();
        narrowed(page, looks, |page| read(None, page), |page| read(status, page), id).await
    }

    /// A page of an agent's children, in the order of the filter's page, with the sums of each branch.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn children(&self, parent: AgentId, filter: AgentFilter) -> Result<Narrowed<Child>> {
        self.agent(parent).await?;
        let found = self.find_agents(AgentFilter { parent: Some(parent), ..filter }).await?;
        let ids: Vec<AgentId> = found.rows.iter().map(|agent| agent.id).collect();
        let mut sums = self.subtrees(&ids).await?;
        // A child that was removed meanwhile has none.
        Ok(found.map(|agent| Child { subtree: sums.remove(&agent.id).unwrap_or_default(), agent }))
    }

    /// The sums over an agent and all agents below it.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn subtree(&self, agent: AgentId) -> Result<Subtree> {
        let found = self.subtrees(&[agent]).await?.remove(&agent);
        found.ok_or_else(|| crate::Error::not_found("agent", agent))
    }

    /// The sums over each of these agents and all below it, read at once; none for an agent that does not exist.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn subtrees(&self, agents: &[AgentId]) -> Result<HashMap<AgentId, Subtree>> {
        Ok(self.engine.store().subtrees(&self.scope, agents).await?.into_iter().collect())
    }

    /// One run.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn run(&self, id: RunId) -> Result<Run> {
        let query = RunQuery { id: Some(id), ..RunQuery::default() };
        let found = self.engine.store().runs(&self.scope, query).await?;
        found.into_iter().next().ok_or_else(|| crate::Error::not_found("run", id))
    }
}

impl AgentFilter {
    /// Whether it selects this agent; whether the agent has unread posts does not count.
    fn takes(&self, agent: &Agent) -> bool {
        let Self { roots, status, root, parent, kind, waiting_on, title, .. } = self;
        !(*roots && agent.parent.is_some())
            && status.is_none_or(|status| status == agent.shown())
            && root.is_none_or(|root| root == agent.root)
            && (parent.is_none() || *parent == agent.parent)
            && kind.as_ref().is_none_or(|kind| *kind == agent.kind)
            && (waiting_on.is_none() || *waiting_on == agent.waiting_on)
            && title.as_ref().is_none_or(|words| entourage_store::words::has_words(&agent.title, words))
    }
}
