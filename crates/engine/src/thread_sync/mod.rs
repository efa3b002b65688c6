//! Thread sync: threads that a database of the application keeps, too. The commit that creates a thread
//! contains the items that were loaded from there; new items are saved from pending saves, rows that are
//! written in the commit of the items. An engine without a thread store does nothing of this.

mod begin;
mod save;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_store::{Commit, Committed, Result as Stored, Store, StoreLayer, Write};
use entourage_types::{AgentId, Item, ItemBody, KeptThread, PendingSave, Scope, ThreadKey, Time};

use crate::Engine;

/// Why a thread store could not load or save.
pub type ThreadStoreError = Box<dyn std::error::Error + Send + Sync>;

/// Loads and saves threads in a database of the application, beside the engine's own database.
///
/// Threads are those of chats, which are found by a name. Agents work from the engine's own database, and
/// never wait for a save.
#[async_trait]
pub trait ThreadStore: Send + Sync + 'static {
    /// Returns the earlier items of a thread, oldest first: the [bodies](Item::body) of the items that were
    /// saved, or messages and turns from another source; nothing for a new thread. The engine calls it before
    /// it creates the thread in its own database, perhaps more than once, and waits at most 30 seconds.
    ///
    /// Items are numbered from 0 in each database. If all saved items are returned, the numbers of new items
    /// follow theirs.
    ///
    /// # Errors
    /// Why the items cannot be loaded now. The message is not sent then: a person gets an error, an agent
    /// that writes to another gets an error output.
    async fn load(&self, thread: &ThreadKey) -> Result<Vec<ItemBody>, ThreadStoreError>;

    /// Saves the next items of a thread, in order and without gaps, each at least once, also after a crash. A
    /// repeated item has the same run and number. Threads are saved side by side, each one step at a time;
    /// the engine waits at most 30 seconds.
    ///
    /// # Errors
    /// Why the items were not saved. The engine tries again, after a second at first and after five minutes
    /// at most.
    async fn save(&self, thread: &ThreadKey, items: &[Item]) -> Result<(), ThreadStoreError>;
}

/// How long a call of a thread store may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The store layer that adds pending saves to commits.
#[derive(Clone)]
pub(crate) struct SaveLayer(pub(crate) Arc<dyn ThreadStore>);

#[async_trait]
impl StoreLayer for SaveLayer {
    async fn commit(&self, store: &Arc<dyn Store>, mut commit: Commit) -> Stored<Committed> {
        // The items that a thread begins with were loaded, and their commit has no fence of the agent.
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

/// The kept thread of an agent, if it is one.
async fn kept(store: &dyn Store, agent: AgentId) -> Stored<Option<KeptThread>> {
    store.record(&Scope::All, agent).await
}

/// The pending save of an agent's items from `first` on.
fn pending(agent: AgentId, first: u64, thread: &KeptThread, at: Time) -> Stored<Write> {
    let pending = PendingSave { agent, owner: thread.key.owner.clone(), first, from: first, at };
    Ok(Write::record(&pending)?)
}

impl Engine {
    fn thread_store(&self) -> Option<&Arc<dyn ThreadStore>> {
        self.inner.save_layer.as_ref().map(|layer| &layer.0)
    }
}
