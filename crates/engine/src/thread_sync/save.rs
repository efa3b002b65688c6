//! Saves kept threads: several side by side, each one step at a time, from pending saves, which are removed
//! once their items are saved.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_store::{Changed, Commit, EntityQuery, ItemQuery, Page, Write};
use entourage_types::{AgentId, Backoff, EntityKind, EventBody, PendingSave, Record, Scope, Time};
use tokio::sync::broadcast;

use super::{PATIENCE, ThreadStore, ThreadStoreError, kept};
use crate::{
    Engine,
    due::{self, Cause, DueRows},
    in_time::in_time,
    pages::pages,
};

/// The most items of a thread that are saved in one step.
const ITEMS: u32 = 200;
/// Rows per page.
const ROWS: u32 = 500;

/// The threads with pending saves.
struct Threads {
    engine: Engine,
    thread_store: Arc<dyn ThreadStore>,
}

#[async_trait]
impl DueRows for Threads {
    type Key = AgentId;
    type Lane = ();
    type Hint = Arc<Changed>;

    const PLACES: usize = 8;
    const HORIZON: Duration = Duration::from_secs(5 * 60);
    const FAILING: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5 * 60));

    fn lane(_: &AgentId) {}

    fn hints(&self) -> broadcast::Receiver<Arc<Changed>> {
        self.engine.store().changed()
    }

    fn hinted(&self, changed: &Arc<Changed>, now: Time) -> Vec<(AgentId, Time)> {
        let joined = changed.events.iter().filter(|event| matches!(event.body, EventBody::Item { .. }));
        joined.map(|event| (event.agent, now)).collect()
    }

    async fn due(&self, _: Time) -> Result<Vec<(AgentId, Time)>, Cause> {
        let (engine, mut due) = (&self.engine, Vec::new());
        let query = EntityQuery::of(EntityKind::PENDING_SAVE);
        let mut pages = pages(&**engine.store(), &Scope::All, query);
        while let Some(page) = pages.next().await? {
            due.extend(page.iter().filter_map(|row| row.parent).map(|agent| (agent, engine.now())));
        }
        Ok(due)
    }

    async fn work(&self, agent: &AgentId) -> Result<Option<Time>, Cause> {
        let has_more = self.engine.save_next(&*self.thread_store, *agent).await?;
        Ok(has_more.then(|| self.engine.now()))
    }
}

impl Engine {
    /// Saves the new items of kept threads, until the engine is [stopping](Engine::stopping). What a process
    /// leaves pending, the next one saves.
    pub async fn save_threads(&self) {
        let Some(threads) = self.kept_threads() else { return };
        due::work(threads, Arc::clone(self.clock()), self.stopping().clone()).await;
    }

    /// Saves all pending items now: each thread until none is left or a save fails, and all threads within 30
    /// seconds.
    pub async fn save_rest(&self) {
        let Some(threads) = self.kept_threads() else { return };
        due::work_off(threads, Arc::clone(self.clock()), self.now() + PATIENCE).await;
    }

    fn kept_threads(&self) -> Option<Threads> {
        let thread_store = Arc::clone(self.thread_store()?);
        Some(Threads { engine: self.clone(), thread_store })
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
