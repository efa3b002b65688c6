//! Subscribers of the trees, who must see every event once, at whichever nodes they are, one after another.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use entourage_engine::{Engine, Signal};
use entourage_store::Store;
use entourage_types::{Agent, AgentId, Owner, Scope};

use super::{
    NOTHING_STUCK,
    requests::{Check, Request},
};
use entourage_testkit::Violation;

/// One subscriber of a tree, from its first event on.
#[derive(Clone)]
struct Follower {
    owner: Owner,
    root: AgentId,
    /// The numbers of the events that it has seen.
    seen: Vec<u64>,
    is_connected: bool,
}

/// All subscribers. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Followers(Arc<Mutex<Vec<Follower>>>);

/// The connection of a subscriber to a node. It is lost with the node.
struct Connected {
    all: Followers,
    nth: usize,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.all.locked()[self.nth].is_connected = false;
    }
}

impl Followers {
    fn locked(&self) -> MutexGuard<'_, Vec<Follower>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a subscriber for each of these trees.
    pub(super) fn add(&self, roots: &[Agent]) {
        roots.iter().for_each(|root| self.add_to(root));
    }

    /// Adds a subscriber for each of these trees that nobody follows.
    pub(super) fn add_to_new(&self, roots: &[Agent]) {
        let followed: BTreeSet<AgentId> = self.locked().iter().map(|follower| follower.root).collect();
        roots.iter().filter(|root| !followed.contains(&root.id)).for_each(|root| self.add_to(root));
    }

    fn add_to(&self, root: &Agent) {
        let (owner, root) = (root.owner.clone(), root.id);
        self.locked().push(Follower { owner, root, seen: Vec::new(), is_connected: false });
    }

    /// The subscribers that are at no node.
    pub(super) fn lost(&self) -> Vec<usize> {
        let all = self.locked();
        (0..all.len()).filter(|nth| !all[*nth].is_connected).collect()
    }

    /// Connects a subscriber to a node, where it follows its tree after the last event it saw, as long as the
    /// node lives.
    pub(super) fn follow(
        &self,
        nth: usize,
        engine: &Engine,
        check: Check,
    ) -> impl Future<Output = ()> + use<> {
        let connected = Connected { all: self.clone(), nth };
        let (client, root, last) = {
            let follower = &mut self.locked()[nth];
            follower.is_connected = true;
            (engine.client(follower.owner.clone()), follower.root, follower.seen.last().copied())
        };
        async move {
            let watch = client.watch(root, last).await;
            let Some(mut watch) = check.came_of(Request::Follow, watch).done() else { return };
            while let Some(signal) = check.came_of(Request::Follow, watch.next().await).done() {
                if let Signal::Event(event) = signal {
                    connected.all.locked()[nth].seen.push(event.seq);
                }
            }
        }
    }

    /// Whether some subscriber has not seen all events yet.
    pub(super) async fn missing(&self, store: &dyn Store) -> Vec<Violation> {
        let all = self.locked().clone();
        let mut found = Vec::new();
        for Follower { root, seen, .. } in all {
            let last = store.last_event(&Scope::All, root).await.unwrap_or_default();
            if seen != (1..=last).collect::<Vec<_>>() {
                let what = format!("a subscriber saw {seen:?} of the events up to {last}");
                found.push(Violation { invariant: NOTHING_STUCK, agent: Some(root), what });
            }
        }
        found
    }
}
