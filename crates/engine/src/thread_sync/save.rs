//! Saves kept threads: several side by side, each one step at a time, from pending saves, which are removed
//! once their items are saved.

use std::{collections::HashMap, sync::Arc, time::Duration};

use entourage_store::{
    Commit, CommittedEvents, Error as StoreError, ItemQuery, Page as RowPage, RecordFilter, Write,
};
use entourage_types::{AgentId, Backoff, EntityKind, EventBody, PendingSave, Scope, Time};

use super::{PATIENCE, ThreadStore, ThreadStoreError, kept};
use crate::{
    Engine, Error, Result,
    due::{Limits, Next, PAGE, Page, Work, Worker, rows},
    with_timeout::with_timeout,
};

/// The most items of a thread that are saved in one step.
const ITEMS: u32 = 200;
/// Between attempts to save a thread.
const FAILING: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5 * 60));
/// After how long the pending saves are read again if they could not be read.
const AGAIN: Duration = Duration::from_secs(30);

/// The work of thread sync: a key is the agent of a kept thread.
struct Saves {
    engine: Engine,
    thread_store: Arc<dyn ThreadStore>,
    failures: HashMap<AgentId, Failures>,
}

/// A thread's failed saves in a row, and until when it is not tried again.
struct Failures {
    count: u32,
    until: Time,
}

impl Work for Saves {
    type Key = AgentId;
    type Lane = ();
    type Cursor = String;
    type Hint = Arc<CommittedEvents>;
    /// Whether there is more to save of the thread.
    type Outcome = Result<bool, ThreadStoreError>;

    fn horizon(&self) -> Duration {
        Duration::from_secs(5 * 60)
    }

    fn limits(&self) -> Limits {
        Limits { in_all: 8, per_lane: usize::MAX }
    }

    async fn page(&self, _: Time, after: Option<String>) -> Result<Page<Self>> {
        let pending = RecordFilter::<PendingSave>::default();
        let (found, next) = rows(&**self.engine.store(), pending, after).await?;
        let now = self.engine.now();
        let due = found.iter().map(|save| (save.agent, (), self.due(save.agent, now)));
        Ok(Page { due: due.collect(), next })
    }

    fn unread(&mut self, error: &Error, _: Time) -> Duration {
        if !matches!(error, Error::Store(error) if error.is_outage()) {
            tracing::error!(%error, "the items to save could not be read");
        }
        AGAIN
    }

    fn on_hint(&self, changed: &Arc<CommittedEvents>, now: Time, mut put: impl FnMut(AgentId, &(), Time)) {
        let joined = changed.events.iter().filter(|event| matches!(event.body, EventBody::Item { .. }));
        joined.for_each(|event| put(event.agent, &(), self.due(event.agent, now)));
    }

    fn start(
        &self,
        agent: AgentId,
        (): &(),
        _: Time,
    ) -> impl Future<Output = Self::Outcome> + Send + 'static {
        let (engine, thread_store) = (self.engine.clone(), Arc::clone(&self.thread_store));
        async move { engine.save_next(&*thread_store, agent).await }
    }

    fn ended(&mut self, agent: AgentId, outcome: Result<Self::Outcome, String>, now: Time) -> Next {
        match outcome.unwrap_or_else(|crash| Err(crash.into())) {
            Ok(more) => {
                self.failures.remove(&agent);
                if more { Next::At(now) } else { Next::Done }
            }
            // The dispatcher reports an outage of the store, which is no failure of the thread store.
            Err(cause) if is_outage(&*cause) => Next::NotBefore(now + AGAIN),
            Err(cause) => {
                tracing::warn!(%agent, %cause, "a thread could not be saved elsewhere; it is tried again");
                let failures = self.failures.entry(agent).or_insert(Failures { count: 0, until: now });
                failures.count += 1;
                failures.until = now + FAILING.after(failures.count);
                Next::NotBefore(failures.until)
            }
        }
    }
}

/// Whether the engine's own store is unusable.
fn is_outage(cause: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    cause.downcast_ref().is_some_and(StoreError::is_outage)
}

impl Saves {
    /// When a thread with items to save is due: at once, unless its last save failed.
    fn due(&self, agent: AgentId, now: Time) -> Time {
        self.failures.get(&agent).map_or(now, |failures| failures.until.max(now))
    }
}

impl Engine {
    /// Saves the new items of kept threads, until the engine is [stopping](Engine::stopping). What a process
    /// leaves pending, the next one saves.
    pub async fn save_threads(&self) {
        let Some(worker) = self.saves() else { return };
        worker.run(self.stopping()).await;
    }

    /// Saves all pending items now: each thread until none is left or a save fails, and all threads within 30
    /// seconds.
    pub async fn flush_pending_saves(&self) {
        let Some(worker) = self.saves() else { return };
        worker.drain(self.now() + PATIENCE).await;
    }

    fn saves(&self) -> Option<Worker<Saves>> {
        let thread_store = Arc::clone(self.thread_store()?);
        let work = Saves { engine: self.clone(), thread_store, failures: HashMap::new() };
        Some(Worker::new(work, self.store().changed(), Arc::clone(self.clock())))
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
        let rows = self.pending(agent, PAGE).await?;
        let mut done = Commit::new(self.now());
        let mut more = rows.len() == PAGE as usize;
        let last = match (kept(&**store, agent).await?, items.last()) {
            (Some(thread), Some(item)) => {
                with_timeout(&**self.clock(), PATIENCE, thread_store.save(&thread.key, &items)).await??;
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
        let page = RowPage { limit, ..RowPage::default() };
        let of_thread = RecordFilter { parent: Some(agent.into()), page, ..RecordFilter::default() };
        Ok(self.store().records(&Scope::All, of_thread).await?)
    }
}
