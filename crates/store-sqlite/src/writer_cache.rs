//! What the writer knows without a query, because it alone writes to the database.

use std::{
    collections::HashMap,
    hash::Hash,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use entourage_store::{Error, monotonic_time};
use entourage_types::{Agent, AgentId, Epoch, Run, RunId, Time};
use lru::LruCache;
use rusqlite::Connection;

use crate::{
    agents, events,
    fault::Result,
    inbox,
    key_range::KeyRange,
    runs::{self, StoredRun},
};

/// The number of agents, and of trees, that are cached: more than are at work at once, two megabytes at most.
const KEPT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2047);

/// Creates a cache for that many, which allocates its memory as it fills.
fn kept<K: Hash + Eq, V>() -> LruCache<K, V> {
    let mut kept = LruCache::unbounded();
    kept.resize(KEPT);
    kept
}

/// Returns the number after the last one, which is read only the first time. A transaction that is rolled back
/// leaves a gap.
fn next(last: &mut Option<i64>, read: impl FnOnce() -> Result<i64>) -> Result<i64> {
    let next = match *last {
        Some(last) => last,
        None => read()?,
    } + 1;
    *last = Some(next);
    Ok(next)
}

/// Rows as they are inside the current transaction.
pub(crate) struct WriterCache {
    agents: LruCache<AgentId, Agent>,
    key_ranges: LruCache<AgentId, KeyRange>,
    /// The row of each tree's root, and the number and the time of the tree's last event.
    last_events: LruCache<AgentId, (KeyRange, u64, Time)>,
    /// Runs that were looked up or written recently: their agents, with status and usage; none if there is no
    /// such run.
    runs: LruCache<RunId, Option<(AgentId, StoredRun)>>,
    /// The row number of the newest agent, once it was needed.
    newest_agent: Option<i64>,
    /// The number of the last post that arrived, once it was needed.
    arrivals: Option<i64>,
    /// How many posts an inbox may have at most: those that came since it was empty and were not consumed.
    unread: LruCache<AgentId, usize>,
    empty_inboxes: EmptyInboxes,
    /// Those of them that the current transaction found.
    emptied: Vec<AgentId>,
    /// Epochs that were raised by a claim and are in no row yet: the first commit under an epoch writes it.
    /// The activations that hold them end with this process, so a crash may lose them.
    raised: HashMap<AgentId, Epoch>,
}

/// Agents whose inbox is empty, and whether that is durable: the transaction that consumed the last post may
/// still be under way. Clones are the same set, so that a reader need not query the database.
#[derive(Clone)]
pub(crate) struct EmptyInboxes(Arc<Mutex<LruCache<AgentId, bool>>>);

impl EmptyInboxes {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(kept())))
    }

    /// Whether a reader would find no post for this agent.
    pub(crate) fn has(&self, agent: AgentId) -> bool {
        self.lock().get(&agent) == Some(&true)
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<AgentId, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WriterCache {
    pub(crate) fn new() -> Self {
        Self {
            agents: kept(),
            key_ranges: kept(),
            last_events: kept(),
            runs: kept(),
            newest_agent: None,
            arrivals: None,
            unread: kept(),
            empty_inboxes: EmptyInboxes::new(),
            emptied: Vec::new(),
            raised: HashMap::new(),
        }
    }

    /// Returns the agent, with the epoch that was raised last.
    pub(crate) fn agent(&mut self, connection: &Connection, id: AgentId) -> Result<Option<Agent>> {
        if let Some(agent) = self.agents.get(&id) {
            return Ok(Some(agent.clone()));
        }
        let Some(mut agent) = agents::get(connection, id)? else { return Ok(None) };
        agent.epoch = self.raised.get(&id).copied().unwrap_or(agent.epoch);
        self.agents.put(id, agent.clone());
        Ok(Some(agent))
    }

    /// Assigns the row number of a new agent. No agent gets the number of one that was removed: an activation of
    /// that one may still write under it, if a person removed it by hand.
    pub(crate) fn next_agent(&mut self, connection: &Connection) -> Result<i64> {
        next(&mut self.newest_agent, || agents::newest_row(connection))
    }

    /// Records that an agent was created in this row; also its tree, if it is the root.
    pub(crate) fn put_new_agent(&mut self, agent: &Agent, row: i64) {
        self.key_ranges.put(agent.id, KeyRange::of_row(row));
        if agent.root == agent.id {
            self.last_events.put(agent.root, (KeyRange::of_row(row), 0, events::NEVER));
        }
        self.agents.put(agent.id, agent.clone());
        self.unread.put(agent.id, 0);
    }

    /// Records that an agent was removed; also its tree, if it is the root.
    pub(crate) fn remove_agent(&mut self, id: AgentId) {
        self.agents.pop(&id);
        self.key_ranges.pop(&id);
        self.last_events.pop(&id);
        self.unread.pop(&id);
        self.empty_inboxes.lock().pop(&id);
        self.runs.clear();
    }

    /// Returns the keys of the rows that are numbered within an agent.
    ///
    /// # Errors
    /// [`entourage_store::Error::NoAgent`] if there is no such agent.
    pub(crate) fn key_range(&mut self, connection: &Connection, id: AgentId) -> Result<KeyRange> {
        if let Some(range) = self.key_ranges.get(&id) {
            return Ok(*range);
        }
        let range = KeyRange::of(connection, id)?.ok_or(Error::NoAgent { agent: id })?;
        self.key_ranges.put(id, range);
        Ok(range)
    }

    /// Records an agent's row as it was just written.
    pub(crate) fn put_agent(&mut self, agent: Agent) {
        self.agents.put(agent.id, agent);
    }

    /// Raises the agent's epoch and returns the agent; none if there is no such agent.
    pub(crate) fn claim(&mut self, connection: &Connection, id: AgentId) -> Result<Option<Agent>> {
        let Some(mut agent) = self.agent(connection, id)? else { return Ok(None) };
        agent.epoch = agent.epoch.next(0);
        self.raised.insert(id, agent.epoch);
        self.agents.put(id, agent.clone());
        Ok(Some(agent))
    }

    /// Whether the agent's epoch is ahead of its row.
    pub(crate) fn has_unpersisted_epoch(&self, id: AgentId) -> bool {
        self.raised.contains_key(&id)
    }

    /// Records that an epoch is durable in its row.
    pub(crate) fn epoch_persisted(&mut self, id: AgentId, epoch: Epoch) {
        if self.raised.get(&id) == Some(&epoch) {
            self.raised.remove(&id);
        }
    }

    /// Records that an agent's removal is durable. Not before: if the removal is rolled back, the agent still
    /// has its epoch.
    pub(crate) fn forget_epoch(&mut self, id: AgentId) {
        self.raised.remove(&id);
    }

    /// Whether the agent exists.
    pub(crate) fn has_agent(&self, connection: &Connection, id: AgentId) -> Result<bool> {
        Ok(self.agents.contains(&id) || self.last_events.contains(&id) || agents::exists(connection, id)?)
    }

    /// Assigns the number of the next event of a tree. Returns the tree of this root, the number, and the
    /// [time](monotonic_time) of the event.
    ///
    /// # Errors
    /// [`entourage_store::Error::NoAgent`] if there is no such root; [`entourage_store::Error::Corrupt`] if
    /// the tree has no number left.
    pub(crate) fn next_event(
        &mut self,
        connection: &Connection,
        root: AgentId,
        at: Time,
    ) -> Result<(KeyRange, u64, Time)> {
        let (tree, last, before) = match self.last_events.get(&root) {
            Some(last) => *last,
            None => {
                let tree = self.key_range(connection, root)?;
                let (last, before) = events::last(connection, tree)?;
                (tree, last, before)
            }
        };
        if last >= u64::from(u32::MAX) {
            return Err(Error::Corrupt(format!("the tree of agent {root} has {last} events")).into());
        }
        let next = (tree, last + 1, monotonic_time(before, at));
        self.last_events.put(root, next);
        Ok(next)
    }

    /// Returns the agent of a run; none if there is no such run.
    pub(crate) fn agent_of_run(&mut self, connection: &Connection, run: RunId) -> Result<Option<AgentId>> {
        if let Some(known) = self.runs.get(&run) {
            return Ok(known.as_ref().map(|(agent, _)| *agent));
        }
        let found = runs::before(connection, run)?;
        let agent = found.as_ref().map(|(agent, _)| *agent);
        self.runs.put(run, found);
        Ok(agent)
    }

    /// Returns the row's status and usage of a run that was looked up; none if there is no such run.
    pub(crate) fn run(&mut self, run: RunId) -> Option<&StoredRun> {
        self.runs.get(&run)?.as_ref().map(|(_, before)| before)
    }

    /// Records a run's row as it was just written.
    pub(crate) fn put_run(&mut self, run: &Run) {
        match self.runs.get_mut(&run.id) {
            Some(Some((_, before))) if before.spent == run.spent => before.status = run.status,
            _ => {
                let stands = StoredRun { status: run.status, spent: run.spent.clone() };
                self.runs.put(run.id, Some((run.agent, stands)));
            }
        }
    }

    /// Whether an agent's inbox has posts.
    pub(crate) fn has_posts(&mut self, connection: &Connection, id: AgentId) -> Result<bool> {
        if self.empty_inboxes.lock().get(&id).is_some() {
            return Ok(false);
        }
        let posts = self.unread.get(&id) != Some(&0) && inbox::has_posts(connection, id)?;
        if !posts {
            self.unread.put(id, 0);
            self.empty_inboxes.lock().put(id, false);
            self.emptied.push(id);
        }
        Ok(posts)
    }

    /// Assigns the number of the next post that arrives. No post has the number of one that was rolled back.
    pub(crate) fn next_arrival(&mut self, connection: &Connection) -> Result<i64> {
        next(&mut self.arrivals, || inbox::last_arrival(connection))
    }

    /// Records that a post came into an agent's inbox.
    pub(crate) fn post_came(&mut self, id: AgentId) {
        self.empty_inboxes.lock().pop(&id);
        if let Some(unread) = self.unread.get_mut(&id) {
            *unread += 1;
        }
    }

    /// Records that a post of an agent's inbox was consumed.
    pub(crate) fn post_consumed(&mut self, id: AgentId) {
        if let Some(unread) = self.unread.get_mut(&id) {
            *unread = unread.saturating_sub(1);
        }
    }

    /// Returns the set of agents whose inbox is empty, which stays current.
    pub(crate) fn empty_inboxes(&self) -> EmptyInboxes {
        self.empty_inboxes.clone()
    }

    /// Records that the current transaction is durable.
    pub(crate) fn mark_durable(&mut self) {
        let mut empty = self.empty_inboxes.lock();
        for agent in self.emptied.drain(..) {
            // A post may have arrived since.
            if let Some(durable) = empty.get_mut(&agent) {
                *durable = true;
            }
        }
    }

    /// Records that the current transaction was rolled back.
    pub(crate) fn undone(&mut self) {
        self.agents.clear();
        self.key_ranges.clear();
        self.last_events.clear();
        self.runs.clear();
        self.unread.clear();
        self.empty_inboxes.lock().clear();
        self.emptied.clear();
    }

    /// Writes the epochs that are ahead of their rows.
    pub(crate) fn persist_epochs(&self, connection: &Connection) -> Result<()> {
        self.raised.iter().try_for_each(|(agent, epoch)| agents::set_epoch(connection, *agent, *epoch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_an_inbox_as_empty_only_once_that_is_durable() {
        let directory = tempfile::tempdir().unwrap();
        let connection = crate::open::writer(&directory.path().join("entourage.db"), None, true).unwrap();
        let (mut cache, agent) = (WriterCache::new(), AgentId::new());
        let readers = cache.empty_inboxes();
        let empty = |cache: &mut WriterCache| assert!(!cache.has_posts(&connection, agent).unwrap());

        empty(&mut cache);
        assert!(!readers.has(agent), "the transaction is under way");
        cache.undone();
        cache.mark_durable();
        assert!(!readers.has(agent), "it was undone");

        empty(&mut cache);
        cache.mark_durable();
        assert!(readers.has(agent));

        cache.post_came(agent);
        assert!(!readers.has(agent), "somebody wrote");

        empty(&mut cache);
        cache.post_came(agent);
        cache.mark_durable();
        assert!(!readers.has(agent), "somebody wrote in the same transaction");
    }
}
