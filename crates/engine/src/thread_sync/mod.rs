//! Threads that are kept elsewhere, too: in a database of whoever builds on the engine. What was said
//! before is loaded in the commit that makes a thread; what joins one is saved from rows that are
//! written in the commit that it joins in. An engine without a thread_store has nobody here.

mod begin;
mod save;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_store::{Commit, Committed, Result as Stored, Store, StoreLayer, Write};
use entourage_types::{
    AgentId, EntityKind, Item, ItemBody, KeptThread, PendingSave, Record, Scope, ThreadKey, Time,
};
use futures::FutureExt;

use crate::{Clock, Engine};

pub(crate) use begin::NotLoaded;

/// Why a thread_store could not do what it was asked.
pub type ThreadStoreError = Box<dyn std::error::Error + Send + Sync>;

/// Keeps threads elsewhere, beside the engine's own database: the hooks to load and save them.
///
/// Threads are those of chats, which are found by a name. Agents work from the engine's own database, and
/// never wait for a save.
#[async_trait]
pub trait ThreadStore: Send + Sync + 'static {
    /// What was said in a thread before, oldest first: the [bodies](Item::body) of the items that were
    /// saved, or messages and turns of other makes; nothing where it is new. Asked before the thread is
    /// made in this database, perhaps more than once; within 30 seconds.
    ///
    /// Items are numbered from 0 in each database. Where all that was saved is given back, numbers go on
    /// behind it.
    ///
    /// # Errors
    /// Why that is not known now. Nothing is said in the thread then: a person gets an error, an agent
    /// that writes to another an error output.
    async fn load(&self, thread: &ThreadKey) -> Result<Vec<ItemBody>, ThreadStoreError>;

    /// Keeps what joined a thread: the next items, in order and without gaps, each at least once and also
    /// after a crash. One that comes again is known by its run and number. Threads are saved side by
    /// side, each one step at a time; within 30 seconds.
    ///
    /// # Errors
    /// Why that did not happen: it is tried again, after a second at first and five minutes at the most.
    async fn save(&self, thread: &ThreadKey, items: &[Item]) -> Result<(), ThreadStoreError>;
}

/// How long a thread_store may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What notes in each commit what is to be saved.
#[derive(Clone)]
pub(crate) struct Keeping(pub(crate) Arc<dyn ThreadStore>);

#[async_trait]
impl StoreLayer for Keeping {
    async fn commit(&self, store: &Arc<dyn Store>, mut commit: Commit) -> Stored<Committed> {
        // What a thread begins with was loaded, and belongs to no fence.
        let writer = commit.fence.map(|fence| fence.agent);
        let joined = commit.writes.iter().find_map(|write| match write {
            Write::Item(item) if writer == Some(item.agent) => Some((item.agent, item.seq)),
            _ => None,
        });
        let Some((agent, first)) = joined else { return store.commit(commit).await };
        let Some(thread) = kept(&**store, agent).await? else { return store.commit(commit).await };
        commit.push(pending(agent, first, &thread, commit.at)?);
        store.commit(commit).await
    }
}

/// The thread of an agent, if it is kept elsewhere.
async fn kept(store: &dyn Store, agent: AgentId) -> Stored<Option<KeptThread>> {
    let found = store.entity(&Scope::All, EntityKind::Thread, &agent.to_string()).await?;
    Ok(found.map(|entity| KeptThread::from_entity(&entity)).transpose()?)
}

/// The items of an agent from this one on are to be saved.
fn pending(agent: AgentId, first: u64, thread: &KeptThread, at: Time) -> Stored<Write> {
    let pending = PendingSave { agent, owner: thread.key.owner.clone(), first, from: first, at };
    Ok(Write::Entity(pending.entity()?))
}

/// What a thread_store said, within its time. One that crashes takes nobody along.
async fn in_time<T>(
    clock: &dyn Clock,
    said: impl Future<Output = Result<T, ThreadStoreError>>,
) -> Result<T, ThreadStoreError> {
    let end = clock.now() + PATIENCE;
    tokio::select! {
        biased;
        said = AssertUnwindSafe(said).catch_unwind() => said.unwrap_or_else(|_| Err("it crashed".into())),
        () = clock.sleep_until(end) => Err(format!("it took longer than {} s", PATIENCE.as_secs()).into()),
    }
}

impl Engine {
    fn thread_store(&self) -> Option<&Arc<dyn ThreadStore>> {
        self.inner.keeping.as_ref().map(|keeping| &keeping.0)
    }
}
