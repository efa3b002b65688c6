//! A store in memory, as simple as possible: rows in lists, one commit at a time. It passes the conformance
//! suite, and the suite's random histories compare other stores with it. An engine whose work need not
//! outlive its process may use it.

mod nodes;
mod prune;
mod rows;
mod search;

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Debug,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use entourage_types::{
    Agent, AgentId, Budget, BudgetId, Entity, EntityKind, Event, Item, NodeId, Owner, Post, PostId, Run,
    RunId, Scope, ShownStatus, Step, StepKey, Time, UsageRow, Wakeup, WakeupId,
};
use tokio::sync::broadcast;

use crate::{
    AgentQuery, Claim, Commit, Committed, CommittedEvents, EntityQuery, Error, EventQuery, ItemQuery, Page,
    Result, RunCount, RunQuery, SpentBy, Store, Subtree, Sums, UsageQuery,
    words::{RANKED, due_first, has_words},
};
use rows::Rows;

pub use nodes::MemoryNodes;

/// The number of hints buffered for a subscriber.
const HINTS: usize = 1024;

/// A store in memory. Clones are the same store; its rows are freed with the last clone or handle.
///
/// A read scans all rows of its type, so the store suits some thousand rows, not more.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    rows: Arc<Mutex<Rows>>,
    node: NodeId,
    changed: broadcast::Sender<Arc<CommittedEvents>>,
    woken: broadcast::Sender<Arc<[Wakeup]>>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            rows: Arc::default(),
            node: NodeId::new(),
            changed: broadcast::Sender::new(HINTS),
            woken: broadcast::Sender::new(HINTS),
        }
    }
}

impl MemoryStore {
    /// Returns another handle on the same rows, with hints of its own commits only, as in another process.
    #[must_use]
    pub fn handle(&self) -> Self {
        Self { rows: Arc::clone(&self.rows), ..Self::default() }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A row that has an owner and is read in pages.
trait Owned: Clone {
    fn owner(&self) -> &Owner;
    fn id(&self) -> String;
}

macro_rules! owned {
    ($($row:ty),+) => {$(
        impl Owned for $row {
            fn owner(&self) -> &Owner {
                &self.owner
            }

            fn id(&self) -> String {
                self.id.to_string()
            }
        }
    )+};
}
owned!(Agent, Run, Entity);

/// Returns the rows of a page: those that the scope includes, after the page's row, and that fit. Refuses a
/// page after a row that the scope does not include.
fn page<'a, T: Owned + Debug + 'a>(
    rows: impl DoubleEndedIterator<Item = &'a T>,
    scope: &Scope,
    page: &Page,
    fits: impl Fn(&T) -> bool,
) -> Result<Vec<T>> {
    let rows: Vec<&T> = rows.filter(|row| scope.sees(row.owner())).collect();
    let seen_ids: HashSet<String> = match page.until {
        Some(_) => rows.iter().map(|row| row.id()).collect(),
        None => HashSet::new(),
    };
    let seen = rows.into_iter();
    let seen: Box<dyn Iterator<Item = &T>> =
        if page.newest_first { Box::new(seen.rev()) } else { Box::new(seen) };
    let (mut after, mut skip) = (page.after.as_deref(), page.skip);
    let mut is_behind = |row: &T| match after {
        Some(last) => {
            if row.id() == last {
                after = None;
            }
            false
        }
        None => true,
    };
    let mut is_skipped = || skip.checked_sub(1).map(|left| skip = left).is_some();
    let mut is_over = page.until.is_some() && !seen_ids.contains(page.until.as_deref().unwrap_or_default());
    let mut is_within = |row: &T| {
        let is_within = !is_over;
        is_over |= page.until.as_ref().is_some_and(|until| *until == row.id());
        is_within
    };
    let wanted = seen
        .filter(|row| is_behind(row))
        .take_while(|row| is_within(row))
        .filter(|row| fits(row) && !is_skipped())
        .take(page.limit as usize);
    let found = within(page.bytes, wanted.cloned());
    match after {
        Some(after) => Err(Error::NoRow { after: after.to_owned() }),
        None => Ok(found),
    }
}

/// Returns the rows up to the one at which they reach this many bytes.
fn within<T: Debug>(bytes: usize, rows: impl Iterator<Item = T>) -> Vec<T> {
    if bytes == usize::MAX {
        return rows.collect();
    }
    let mut found = Vec::new();
    let mut size = 0_usize;
    for row in rows {
        size = size.saturating_add(format!("{row:?}").len());
        found.push(row);
        if size >= bytes {
            break;
        }
    }
    found
}

/// Whether a condition is absent or holds.
fn only<T: PartialEq>(condition: Option<&T>, value: &T) -> bool {
    condition.is_none_or(|condition| condition == value)
}

/// Whether a run matches the query.
fn fits(rows: &Rows, query: &RunQuery, run: &Run) -> bool {
    let is_of_tree = |root| rows.agent(run.agent).is_some_and(|agent| agent.root == root);
    only(query.id.as_ref(), &run.id)
        && only(query.agent.as_ref(), &run.agent)
        && query.root.is_none_or(is_of_tree)
        && query.kind.as_ref().is_none_or(|kind| rows.agent(run.agent).is_some_and(|own| own.kind == *kind))
        && only(query.version.as_ref(), &run.kind_version)
        && only(query.status.as_ref(), &ShownStatus::of(run.status, run.stop_reason))
        && (query.stop_reason.is_none() || query.stop_reason == run.stop_reason)
        && !(query.open && run.status.is_terminal())
}

#[async_trait]
impl Store for MemoryStore {
    async fn agent(&self, scope: &Scope, id: AgentId) -> Result<Option<Agent>> {
        Ok(self.rows().agent(id).filter(|agent| scope.sees(&agent.owner)).cloned())
    }

    async fn agents(&self, scope: &Scope, query: AgentQuery) -> Result<Vec<Agent>> {
        let rows = self.rows();
        page(rows.agents.iter(), scope, &query.page, |agent| {
            only(query.root.as_ref(), &agent.root)
                && (query.parent.is_none() || query.parent == agent.parent)
                && only(query.kind.as_ref(), &agent.kind)
                && (query.key.is_none() || query.key == agent.key)
                && only(query.status.as_ref(), &agent.shown())
                && (query.waiting_on.is_none() || query.waiting_on == agent.waiting_on)
                && query.title.as_ref().is_none_or(|words| has_words(&agent.title, words))
                && !(query.roots && agent.parent.is_some())
                && (!query.unread || rows.has_posts(agent.id))
                && (!query.active || rows.is_active(agent))
                && !(query.unwoken && rows.is_woken(agent.id))
        })
    }

    async fn items(&self, scope: &Scope, query: ItemQuery) -> Result<Vec<Item>> {
        let rows = self.rows();
        if !rows.agent(query.agent).is_some_and(|agent| scope.sees(&agent.owner)) {
            return Ok(Vec::new());
        }
        let fits = |item: &&Item| {
            let below = query.before.is_none_or(|before| item.seq < before);
            item.seq >= query.from && below && only(query.run.as_ref(), &item.run)
        };
        let (wanted, limit) = (rows.items(query.agent).iter().filter(fits).cloned(), query.limit as usize);
        if query.before.is_none() {
            return Ok(within(query.bytes, wanted.take(limit)));
        }
        let mut nearest = within(query.bytes, wanted.rev().take(limit));
        nearest.reverse();
        Ok(nearest)
    }

    async fn runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<Run>> {
        let rows = self.rows();
        page(rows.runs.iter(), scope, &query.page, |run| fits(&rows, &query, run))
    }

    async fn count_runs(&self, scope: &Scope, query: RunQuery) -> Result<Vec<RunCount>> {
        let rows = self.rows();
        let mut counts: BTreeMap<(String, String), u32> = BTreeMap::new();
        for run in rows.runs.iter().filter(|run| scope.sees(&run.owner) && fits(&rows, &query, run)) {
            if let Some(agent) = rows.agent(run.agent) {
                *counts.entry((agent.kind.clone(), run.kind_version.clone())).or_default() += 1;
            }
        }
        let count = |((kind, version), runs)| RunCount { kind, version, runs };
        Ok(counts.into_iter().map(count).collect())
    }

    async fn usage(&self, scope: &Scope, query: UsageQuery) -> Result<Vec<UsageRow>> {
        let rows = self.rows();
        let mut sums = Sums::new(query.clone());
        for run in rows.runs.iter().filter(|run| scope.sees(&run.owner)) {
            let agent = rows.agent(run.agent);
            let tree = agent.map(|agent| agent.root);
            if only(query.run.as_ref(), &run.id)
                && only(query.agent.as_ref(), &run.agent)
                && (query.root.is_none() || query.root == tree)
                && query.under.is_none_or(|top| rows.is_under(run.agent, top))
            {
                let kind = agent.map(|agent| agent.kind.clone());
                let (agent, id) = (Some(run.agent), Some(run.id));
                sums.add(&SpentBy { owner: run.owner.clone(), kind, tree, agent, run: id }, &run.spent);
            }
        }
        let removed = rows.removed.iter().filter(|(spender, _)| scope.sees(&spender.owner));
        for (spender, spent) in removed.filter(|_| query.covers_removed()) {
            sums.add(spender, spent);
        }
        Ok(sums.rows())
    }

    async fn subtrees(&self, scope: &Scope, agents: &[AgentId]) -> Result<Vec<(AgentId, Subtree)>> {
        let rows = self.rows();
        let seen = |id: &&AgentId| rows.agent(**id).is_some_and(|agent| scope.sees(&agent.owner));
        Ok(agents.iter().filter(seen).map(|id| (*id, rows.subtree(*id))).collect())
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<Step>> {
        let rows = self.rows();
        let seen = rows.runs.iter().any(|row| row.id == run && scope.sees(&row.owner));
        Ok(if seen { rows.steps(run).to_vec() } else { Vec::new() })
    }

    async fn step(&self, scope: &Scope, run: RunId, key: &StepKey) -> Result<Option<Step>> {
        Ok(self.steps(scope, run).await?.into_iter().find(|step| step.key == *key))
    }

    async fn budget(&self, scope: &Scope, id: &BudgetId) -> Result<Option<Budget>> {
        Ok(self.rows().budget(id).filter(|budget| scope.sees(&budget.owner)).cloned())
    }

    async fn entity(&self, scope: &Scope, kind: EntityKind, id: &str) -> Result<Option<Entity>> {
        Ok(self.rows().entity(kind, id).filter(|entity| scope.sees(&entity.owner)).cloned())
    }

    async fn entities(&self, scope: &Scope, query: EntityQuery) -> Result<Vec<Entity>> {
        let rows = self.rows();
        let of_kind = rows.entities.iter().filter(|entity| entity.kind == query.records.kind());
        let fits = |entity: &Entity| rows.is_asked_for(entity, &query);
        let bare = |mut found: Vec<Entity>| {
            if !query.with_texts {
                found.iter_mut().for_each(|entity| entity.text = None);
            }
            found
        };
        if query.soonest_first {
            let mut rows: Vec<&Entity> = of_kind.collect();
            rows.sort_by_key(|entity| due_first(&entity.body));
            let in_order = Page { newest_first: false, ..query.page.clone() };
            return page(rows.into_iter(), scope, &in_order, fits).map(bare);
        }
        let Some(text) = &query.text else {
            return page(of_kind, scope, &query.page, fits).map(bare);
        };
        let fits = |entity: &Entity| fits(entity) && search::finds(entity, text);
        if query.page.newest_first {
            return page(of_kind, scope, &query.page, fits).map(bare);
        }
        let latest = Page { limit: RANKED, newest_first: true, ..Page::default() };
        let mut latest = page(of_kind, scope, &latest, fits)?;
        latest.reverse();
        let mut found = search::best(latest, text);
        found.truncate(query.page.limit as usize);
        let found = bare(found);
        Ok(found)
    }

    async fn select_events(&self, scope: &Scope, query: EventQuery) -> Result<Vec<Event>> {
        Ok(self.rows().select_events(scope, &query))
    }

    async fn last_event(&self, scope: &Scope, root: AgentId) -> Result<u64> {
        let rows = self.rows();
        let seen = rows.agent(root).is_some_and(|agent| scope.sees(&agent.owner));
        Ok(rows.events(root).last().filter(|_| seen).map_or(0, |event| event.seq))
    }

    async fn due(&self, until: Time, after: Option<(Time, WakeupId)>, limit: u32) -> Result<Vec<Wakeup>> {
        let mut wakeups = self.rows().wakeups();
        let fits =
            |wakeup: &Wakeup| wakeup.due <= until && after.is_none_or(|last| (wakeup.due, wakeup.id) > last);
        wakeups.retain(fits);
        wakeups.truncate(limit as usize);
        Ok(wakeups)
    }

    async fn is_due(&self, agent: AgentId, until: Time) -> Result<bool> {
        Ok(self.rows().wakeups().iter().any(|wakeup| wakeup.agent == agent && wakeup.due <= until))
    }

    async fn inbox(&self, agent: AgentId) -> Result<Vec<Post>> {
        Ok(self.rows().posts(agent))
    }

    /// The last one first, so that nothing can rely on an order.
    async fn post_ids(&self, agent: AgentId, limit: u32) -> Result<Vec<PostId>> {
        Ok(self.rows().posts(agent).iter().rev().take(limit as usize).map(|post| post.id).collect())
    }

    async fn claim(&self, agent: AgentId, from: u64) -> Result<Option<Claim>> {
        Ok(self.rows().claim(agent, from, self.node))
    }

    async fn commit(&self, commit: Commit) -> Result<Committed> {
        // The hints are sent under the lock, so that they arrive in the order of the commits.
        let mut rows = self.rows();
        let (committed, events, wakeups) = rows.commit(commit)?;
        // Sending fails without a subscriber, which is no error.
        if !wakeups.is_empty() {
            let _ = self.woken.send(wakeups.into());
        }
        if !events.is_empty() {
            let _ = self.changed.send(Arc::new(CommittedEvents { events }));
        }
        Ok(committed)
    }

    async fn ready(&self) -> Result<()> {
        Ok(())
    }

    fn damage(&self) -> Option<String> {
        None
    }

    fn changed(&self) -> broadcast::Receiver<Arc<CommittedEvents>> {
        self.changed.subscribe()
    }

    fn woken(&self) -> broadcast::Receiver<Arc<[Wakeup]>> {
        self.woken.subscribe()
    }
}

#[cfg(all(test, feature = "conformance"))]
mod tests {
    use super::*;
    use crate::conformance::{Backing, handles::Handles};

    #[async_trait]
    impl Backing for MemoryStore {
        type Store = Self;

        async fn open(&self) -> Result<Self> {
            Ok(self.clone())
        }
    }

    #[async_trait]
    impl Handles for MemoryStore {
        async fn open_two(&self) -> Result<[Self; 2]> {
            Ok([self.clone(), self.handle()])
        }
    }

    crate::conformance!(MemoryStore::default);
    crate::conformance_of_handles!(MemoryStore::default);
}
