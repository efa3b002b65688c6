//! Subscribers of the trees, who must see every event once, at whichever node they are.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use entourage_engine::{Client, Signal};
use entourage_store::Store;
use entourage_types::{AgentId, Scope};

use entourage_testkit::{Invariant, Violation};

/// The numbers of the events that each subscriber of a tree has seen.
type Seen = BTreeMap<(AgentId, usize), Vec<u64>>;

/// All subscribers. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Followers(Arc<Mutex<Seen>>);

impl Followers {
    /// Follows a tree from its first event on; `nth` tells the subscribers of one tree apart.
    pub(super) async fn follow(self, client: Client, root: AgentId, nth: usize) {
        let seen = |number| {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let numbers = all.entry((root, nth)).or_default();
            numbers.extend(number);
        };
        seen(None);
        let Ok(mut watch) = client.watch(root, None).await else { return };
        while let Ok(signal) = watch.next().await {
            if let Signal::Event(event) = signal {
                seen(Some(event.seq));
            }
        }
    }

    /// Whether some subscriber has not seen all events yet.
    pub(super) async fn missing(&self, store: &dyn Store) -> Vec<Violation> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut found = Vec::new();
        for ((root, _), numbers) in all {
            let last = store.last_event(&Scope::All, root).await.unwrap_or_default();
            if numbers != (1..=last).collect::<Vec<_>>() {
                let what = format!("a subscriber saw {numbers:?} of the events up to {last}");
                found.push(Violation { invariant: Invariant::NothingStuck, agent: Some(root), what });
            }
        }
        found
    }
}
