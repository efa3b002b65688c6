//! Turns: of the commits of one tree through this handle one is under way, and the others wait here, without a connection.
//! The row of the tree makes them wait in any case; here they keep no commit of another tree from being served.

use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use entourage_store::{Commit, Write};
use entourage_types::{Agent, AgentId};
use lru::LruCache;
use tokio::sync::OwnedMutexGuard;

/// How many agents' trees are remembered: those of the agents at work, and some more. A commit whose tree is not known
/// takes no turn.
const KNOWN: NonZeroUsize = NonZeroUsize::MIN.saturating_add(8_191);

type Lines = HashMap<AgentId, Arc<tokio::sync::Mutex<()>>>;

/// The commits that are under way and wait, by tree.
pub(crate) struct Turns {
    lines: Mutex<Lines>,
    roots: Mutex<LruCache<AgentId, AgentId>>,
}

/// The turn of a commit in its trees, until it is dropped.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    held: Vec<(AgentId, OwnedMutexGuard<()>)>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self { lines: Mutex::default(), roots: Mutex::new(LruCache::new(KNOWN)) }
    }

    /// Remembers the tree of an agent, which never changes.
    pub(crate) fn know(&self, agent: &Agent) {
        locked(&self.roots).put(agent.id, agent.root);
    }

    /// Waits for the turn of a commit in all of its trees that are known, in one order for all commits.
    pub(crate) async fn take(&self, commit: &Commit) -> Turn<'_> {
        let mut turn = Turn { turns: self, held: Vec::new() };
        for root in self.roots_of(commit) {
            let line = Arc::clone(locked(&self.lines).entry(root).or_default());
            turn.held.push((root, line.lock_owned().await));
        }
        turn
    }

    fn roots_of(&self, commit: &Commit) -> BTreeSet<AgentId> {
        let mut known = locked(&self.roots);
        let mut roots: BTreeSet<AgentId> =
            commit.fence.iter().filter_map(|fence| known.get(&fence.agent).copied()).collect();
        for write in &commit.writes {
            match write {
                Write::NewAgent(agent) | Write::Agent(agent) => roots.extend([agent.root]),
                Write::Post(post) => roots.extend(known.get(&post.agent).copied()),
                Write::ScheduleWakeup(wakeup) => roots.extend(known.get(&wakeup.agent).copied()),
                Write::Record(record, _) => roots.extend(record.root),
                _ => {}
            }
        }
        roots
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut lines = locked(&self.turns.lines);
        for (root, guard) in self.held.drain(..) {
            drop(guard);
            // The line itself has the only other reference where nobody waits.
            if lines.get(&root).is_some_and(|line| Arc::strong_count(line) == 1) {
                lines.remove(&root);
            }
        }
    }
}
