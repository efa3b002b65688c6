//! Saves kept threads: several side by side, each one step at a time, from pending saves, which are removed
//! once their items are saved.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use entourage_store::{Commit, EntityQuery, Error as StoreError, ItemQuery, Page, Write};
use entourage_types::{AgentId, Backoff, EntityKind, EventBody, PendingSave, Record, Scope, Time};
use tokio::{sync::broadcast::error::RecvError, task::JoinSet};

use super::{PATIENCE, ThreadStore, ThreadStoreError, kept};
use crate::{Engine, in_time::in_time};

/// The most threads that are saved at once.
const PLACES: usize = 8;
/// The most items of a thread that are saved in one step.
const ITEMS: u32 = 200;
/// Rows per page.
const ROWS: u32 = 500;
/// How often the store is read for pending saves without a hint.
const LOOK: Duration = Duration::from_secs(5 * 60);
/// Between attempts to save a thread.
const FAILING: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5 * 60));

/// Whether there is more to save of a thread.
type Saved = (AgentId, Result<bool, ThreadStoreError>);

/// The threads that are to be saved, in memory. All of it can be read again from the store.
#[derive(Default)]
struct Waiting {
    due: BTreeMap<AgentId, Time>,
    failures: BTreeMap<AgentId, u32>,
    under_way: HashSet<AgentId>,
}

impl Waiting {
    /// Schedules a thread that has items to save, at once unless the last attempt failed.
    fn put(&mut self, agent: AgentId, now: Time) {
        self.due.entry(agent).or_insert(now);
    }

    fn take(&mut self, now: Time) -> Option<AgentId> {
        if self.under_way.len() >= PLACES {
            return None;
        }
        let is_free = |agent: &AgentId| !self.under_way.contains(agent);
        let next = self.due.iter().find(|(agent, due)| **due <= now && is_free(agent))?;
        let agent = *next.0;
        self.due.remove(&agent);
        self.under_way.insert(agent);
        Some(agent)
    }

    /// When the first thread that has a free place is due.
    fn next(&self) -> Option<Time> {
        let free = self.due.iter().filter(|(agent, _)| !self.under_way.contains(agent));
        free.map(|(_, due)| *due).min().filter(|_| self.under_way.len() < PLACES)
    }

    fn ended(&mut self, agent: AgentId, saved: Result<bool, ThreadStoreError>, now: Time) {
        self.under_way.remove(&agent);
        match saved {
            Ok(more) => {
                self.failures.remove(&agent);
                if more {
                    self.put(agent, now);
                }
            }
            Err(cause) => {
                tracing::warn!(%agent, %cause, "a thread could not be saved elsewhere; it is tried again");
                let failures = self.failures.entry(agent).or_default();
                *failures += 1;
                self.due.insert(agent, now + FAILING.after(*failures));
            }
        }
    }
}

impl Engine {
    /// Saves the new items of kept threads, until the engine is [stopping](Engine::stopping). What a process
    /// leaves pending, the next one saves.
    pub async fn save_threads(&self) {
        let Some(thread_store) = self.thread_store() else { return };
        let mut changed = self.store().changed();
        let mut waiting = Waiting::default();
        let mut under_way = JoinSet::new();
        let mut look = self.now();
        while !self.stopping().is_cancelled() {
            if look <= self.now() {
                self.look_for_pending(&mut waiting).await;
                look = self.now() + LOOK;
            }
            self.begin_to_save(thread_store, &mut waiting, &mut under_way);
            let next = waiting.next().map_or(look, |due| due.min(look));
            tokio::select! {
                Some(Ok((agent, saved))) = under_way.join_next() => {
                    waiting.ended(agent, saved, self.now());
                }
                hint = changed.recv() => match hint {
                    Ok(told) => {
                        let joined = told.events.iter().filter(|event| matches!(event.body, EventBody::Item { .. }));
                        joined.for_each(|event| waiting.put(event.agent, self.now()));
                    }
                    Err(RecvError::Lagged(_)) => look = self.now(),
                    Err(RecvError::Closed) => return,
                },
                () = self.clock().sleep_until(next) => {}
                () = self.stopping().cancelled() => {}
            }
        }
    }

    /// Saves all pending items now: each thread until none is left or a save fails, and all threads within 30
    /// seconds.
    pub async fn save_rest(&self) {
        let Some(thread_store) = self.thread_store() else { return };
        let mut waiting = Waiting::default();
        self.look_for_pending(&mut waiting).await;
        let mut under_way = JoinSet::new();
        let end = self.now() + PATIENCE;
        loop {
            self.begin_to_save(thread_store, &mut waiting, &mut under_way);
            let ended = tokio::select! {
                biased;
                ended = under_way.join_next() => ended,
                () = self.clock().sleep_until(end) => return,
            };
            let Some(Ok((agent, saved))) = ended else { return };
            let has_failed = saved.is_err();
            waiting.ended(agent, saved, self.now());
            if has_failed {
                waiting.due.remove(&agent);
            }
        }
    }

    fn begin_to_save(
        &self,
        thread_store: &Arc<dyn ThreadStore>,
        waiting: &mut Waiting,
        under_way: &mut JoinSet<Saved>,
    ) {
        while let Some(agent) = waiting.take(self.now()) {
            let (engine, thread_store) = (self.clone(), Arc::clone(thread_store));
            under_way.spawn(async move { (agent, engine.save_next(&*thread_store, agent).await) });
        }
    }

    async fn look_for_pending(&self, waiting: &mut Waiting) {
        let mut after = None;
        loop {
            let page = Page { after, limit: ROWS, ..Page::default() };
            let query = EntityQuery { page, ..EntityQuery::of(EntityKind::PENDING_SAVE) };
            let found = match self.store().entities(&Scope::All, query).await {
                Ok(found) => found,
                // Rows whose items are saved meanwhile are removed, and the cursor may be among them: read
                // the rest from the beginning.
                Err(StoreError::NoRow { .. }) => {
                    after = None;
                    continue;
                }
                Err(error) => {
                    tracing::error!(%error, "the items to save could not be read");
                    return;
                }
            };
            found.iter().filter_map(|row| row.parent).for_each(|agent| waiting.put(agent, self.now()));
            after = found.last().filter(|_| found.len() == ROWS as usize).map(|last| last.id.clone());
            if after.is_none() {
                return;
            }
        }
    }

    /// Saves the next items of a thread. Returns whether there are more.
    async fn save_next(
        &self,
        thread_store: &dyn ThreadStore,
        agent: AgentId,
    ) -> Result<bool, ThreadStoreError> {
        let store = self.store();
        // Items whose save cannot be recorded would be saved again and again.
        store.ready().await?;
        let Some(first) = self.pending(agent, 1).await?.into_iter().next() else { return Ok(false) };
        let query = ItemQuery::of(agent, first.from, ITEMS);
        let items = store.items(&Scope::from(&first.owner), query).await?;
        // Read after the items, so that items that are added between the two reads are saved once.
        let rows = self.pending(agent, ROWS).await?;
        let mut done = Commit::new(self.now());
        let mut more = rows.len() == ROWS as usize;
        let last = match (kept(&**store, agent).await?, items.last()) {
            (Some(thread), Some(item)) => {
                in_time(&**self.clock(), PATIENCE, thread_store.save(&thread.key, &items)).await??;
                more |= items.len() == ITEMS as usize;
                item.seq
            }
            // The rest of a commit whose items are all saved. Items that were added since are not among those
            // read.
            (Some(_), None) => first.first,
            // Of a tree that was pruned meanwhile there is nothing to save.
            (None, _) => u64::MAX,
        };
        let saved = rows.iter().filter(|row| row.first <= last);
        done.writes.extend(saved.map(|row| Write::PruneEntity(EntityKind::PENDING_SAVE, row.id())));
        if items.len() == ITEMS as usize
            && let Some(row) = rows.iter().rfind(|row| row.first <= last)
        {
            // The rest of the items of that commit keeps its place in the order.
            done.writes.pop();
            let rest = PendingSave { from: last + 1, ..row.clone() };
            done.push(Write::record(&rest)?);
        }
        store.commit(done).await?;
        Ok(more || rows.iter().any(|row| row.first > last))
    }

    /// The pending saves of a thread, in order.
    async fn pending(&self, agent: AgentId, limit: u32) -> Result<Vec<PendingSave>, ThreadStoreError> {
        let page = Page { limit, ..Page::default() };
        let query = EntityQuery { parent: Some(agent), page, ..EntityQuery::of(EntityKind::PENDING_SAVE) };
        let rows = self.store().entities(&Scope::All, query).await?;
        Ok(rows.iter().map(PendingSave::from_entity).collect::<serde_json::Result<_>>()?)
    }
}
