//! The only writer: all waiting jobs are written as one group.
//!
//! If a commit waits for the disk, a separate thread writes. If it does not, the caller writes at once, and
//! callers that come meanwhile leave their jobs to the one that is writing: passing a job to a thread and
//! back costs more than such a commit. A caller never blocks: while another program holds the file, the
//! thread waits, for all callers.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use entourage_store::{Commit, Committed, Error};
use entourage_types::AgentId;
#[cfg(test)]
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{
    Durability,
    claim::Claimed,
    group::{Busy, GROUP, GroupProgress, WriterState},
    job::{Done, Hints, Job, Reply, Work},
    open_file::OpenFile,
    writer_cache::EmptyInboxes,
};

/// A group that takes this long makes the store report that it is not ready.
const SLOW: Duration = Duration::from_secs(2);

/// The handle of the writer; dropping it finishes the waiting jobs.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Whether callers write by themselves.
    at_once: bool,
}

struct Shared {
    waiting: Mutex<Vec<Job>>,
    state: Mutex<Option<WriterState>>,
    /// The progress of the groups.
    progress: Arc<GroupProgress>,
    file: OpenFile,
    empty_inboxes: EmptyInboxes,
    /// Whether the log is long enough to be merged.
    wal_is_long: AtomicBool,
    closing: AtomicBool,
}

impl Writer {
    /// Starts the writer with its state. Without a durability, nothing is ever synced.
    pub(crate) fn start(state: WriterState, durability: Option<Durability>) -> std::io::Result<Self> {
        let at_once = durability != Some(Durability::Full);
        let (progress, file, empty_inboxes) = (state.progress(), state.file().clone(), state.empty_inboxes());
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            state: Mutex::new(Some(state)),
            progress,
            file,
            empty_inboxes,
            wal_is_long: AtomicBool::new(false),
            closing: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        let thread = thread::Builder::new().name("store-writer".to_owned()).spawn(move || serving.serve())?;
        Ok(Self { shared, thread: Some(thread), at_once })
    }

    /// Commits, and returns once the commit is durable and the handle's subscribers have been sent its hints.
    pub(crate) async fn commit(&self, commit: Commit, hints: &Hints) -> Reply<Committed> {
        Ok(self.ask(Work::Commit(commit), hints).await?.committed)
    }

    /// Raises the agent's epoch and returns the agent, with what belongs to it if it is new.
    pub(crate) async fn claim(&self, agent: AgentId, hints: &Hints) -> Reply<Option<Claimed>> {
        Ok(self.ask(Work::Claim(agent), hints).await?.claimed)
    }

    /// Whether this agent's inbox is known to be empty.
    pub(crate) fn knows_empty_inbox(&self, agent: AgentId) -> bool {
        self.shared.empty_inboxes.has(agent)
    }

    /// Checks whether a commit could be written. If the last one failed because of the database and not
    /// because of its content, tries the disk.
    pub(crate) async fn ready(&self, hints: &Hints) -> Reply<()> {
        self.shared.file.check()?;
        self.check_not_blocked(SLOW)?;
        if self.shared.progress.failing.load(Ordering::Relaxed) {
            self.ask(Work::Probe, hints).await?;
        }
        Ok(())
    }

    /// Checks that no group has been under way for this long.
    fn check_not_blocked(&self, long: Duration) -> Reply<()> {
        match self.shared.progress.under_way() {
            Some(time) if time >= long => Err(Error::Unavailable {
                cause: "a commit has been under way for more than two seconds: another program holds the file, such \
                        as a `sqlite3` with an open transaction, or the disk is slow",
                detail: format!("for {} s", time.as_secs()),
            }),
            _ => Ok(()),
        }
    }

    /// Calls `act` with the connection that writes.
    #[cfg(test)]
    pub(crate) fn on_connection(&self, act: impl FnOnce(&Connection)) {
        if let Some(state) = &*locked(&self.shared.state) {
            act(state.connection());
        }
    }

    /// How long a group has been under way, if one is.
    #[cfg(test)]
    pub(crate) fn under_way(&self) -> Option<Duration> {
        self.shared.progress.under_way()
    }

    /// Makes the next commit check where the file is.
    #[cfg(test)]
    pub(crate) fn doubt_file(&self) {
        if let Some(state) = &mut *locked(&self.shared.state) {
            state.doubt_file();
        }
    }

    async fn ask(&self, work: Work, hints: &Hints) -> Reply<Done> {
        let (author, answer) = oneshot::channel();
        locked(&self.shared.waiting).push(Job { work, hints: hints.clone(), author });
        let mut is_for_thread = !self.at_once;
        if self.at_once {
            // Other callers that are about to commit run first, and join the group. A caller that is dropped
            // here leaves its job to the thread.
            let mut left = UnservedJob(Some(self));
            tokio::task::yield_now().await;
            left.0 = None;
            is_for_thread = !self.shared.try_write_inline();
        }
        if is_for_thread || self.shared.wal_is_long.load(Ordering::Relaxed) {
            self.wake();
        }
        answer.await.map_err(|_| Error::Closed)?
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

/// A waiting job that no caller writes yet. Dropping this wakes the thread, which does.
struct UnservedJob<'w>(Option<&'w Writer>);

impl Drop for UnservedJob<'_> {
    fn drop(&mut self) {
        if let Some(writer) = self.0 {
            writer.wake();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer had panicked");
        }
    }
}

impl Shared {
    /// The writer's thread. Waking it while it is awake counts, so no job is missed between the last check
    /// and going to sleep.
    fn serve(&self) {
        loop {
            let closing = self.closing.load(Ordering::Acquire);
            if let Some(state) = &mut *locked(&self.state) {
                self.work(state, Busy::Wait);
                if self.wal_is_long.swap(false, Ordering::Relaxed)
                    && let Err(error) = state.merge()
                {
                    tracing::warn!(%error, "the log was not merged into the database");
                }
            }
            if closing {
                break;
            }
            if locked(&self.waiting).is_empty() {
                thread::park();
            }
        }
        if let Some(state) = locked(&self.state).take() {
            state.close();
        }
    }

    /// Writes the waiting jobs, unless another caller is writing, which then writes these, too: it checks
    /// once more after it has released the state. False if jobs are left for the thread, which must then be
    /// woken.
    fn try_write_inline(&self) -> bool {
        while !locked(&self.waiting).is_empty() {
            let mut state = match self.state.try_lock() {
                Ok(state) => state,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return true,
            };
            if let Some(state) = &mut *state
                && !self.work(state, Busy::Return)
            {
                return false;
            }
        }
        true
    }

    /// Writes until no job waits. False if another program prevented that.
    fn work(&self, state: &mut WriterState, busy: Busy) -> bool {
        loop {
            let group: Vec<Job> = {
                let mut waiting = locked(&self.waiting);
                let some = waiting.len().min(GROUP);
                waiting.drain(..some).collect()
            };
            if group.is_empty() {
                return true;
            }
            let left = state.settle(group, busy);
            if state.wal_needs_checkpoint() {
                self.wal_is_long.store(true, Ordering::Relaxed);
            }
            if !left.is_empty() {
                locked(&self.waiting).splice(0..0, left);
                return false;
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{
        task::{Context, Waker},
        time::Instant,
    };

    use entourage_store::{Store, Write};
    use entourage_types::{Agent, Owner, Scope, Time};
    use tempfile::TempDir;

    use super::*;
    use crate::{Settings, SqliteStore};

    #[tokio::test]
    async fn no_commit_blocks_its_thread_while_another_program_holds_the_file() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("entourage.db");
        for durability in [Durability::Full, Durability::Normal] {
            let store = SqliteStore::open(&path, Settings { durability, ..Settings::default() }).unwrap();
            let other = Connection::open(&path).unwrap();
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
            let agents = [1, 2].map(|at| Agent::root(Owner::local(), "helper", "", Time::from_micros(at)));
            let write = |agent: &Agent| Commit::new(agent.created).write(Write::NewAgent(agent.clone()));
            let mut commits = agents.each_ref().map(|agent| store.commit(write(agent)));
            // A caller that blocked would fail before its poll ends, because this same thread releases the
            // file.
            for _ in 0..3 {
                for commit in &mut commits {
                    let polled = commit.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                    assert!(polled.is_pending(), "{durability:?}: {polled:?}");
                }
            }
            other.execute_batch("ROLLBACK").unwrap();
            for commit in commits {
                commit.await.unwrap();
            }
            for agent in &agents {
                assert!(store.agent(&Scope::All, agent.id).await.unwrap().is_some());
            }
        }
    }

    /// A check for readiness fails while a commit waits, and succeeds before and after.
    #[tokio::test]
    async fn the_readiness_check_fails_while_a_commit_waits_too_long() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("entourage.db");
        let store = SqliteStore::open(&path, Settings::default()).unwrap();
        store.database.writer.check_not_blocked(Duration::ZERO).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let agent = Agent::root(Owner::local(), "helper", "", Time::from_micros(0));
        let mut commit = store.commit(Commit::new(agent.created).write(Write::NewAgent(agent)));
        assert!(commit.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let begun = Instant::now();
        while store.database.writer.under_way().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(30), "no commit is under way");
            thread::yield_now();
        }
        let refused = store.database.writer.check_not_blocked(Duration::ZERO).unwrap_err();
        assert!(matches!(&refused, Error::Unavailable { cause, .. } if cause.contains("another program")));
        store.database.writer.check_not_blocked(Duration::MAX).unwrap();
        other.execute_batch("ROLLBACK").unwrap();
        commit.await.unwrap();
        store.database.writer.check_not_blocked(Duration::ZERO).unwrap();
    }
}
