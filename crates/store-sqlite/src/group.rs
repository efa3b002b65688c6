//! Writes all waiting jobs in one transaction, so that one sync of the disk serves a whole group.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use entourage_store::{Error, judge::Rejection};
use rusqlite::Connection;

use crate::{
    apply, claim,
    facts::Rows,
    fault::Result,
    job::{Done, Job, Reply, Work},
    open_file::OpenFile,
    writer_cache::{EmptyInboxes, WriterCache},
};

/// At most this many jobs in one transaction, so that the first of them need not wait for long.
pub(crate) const GROUP: usize = 128;

/// The number of pages in the log above which the log is merged into the database file: pages change many
/// times before they are copied once. 16 MB.
const MERGE: u32 = 4000;

/// The only connection that writes, and what it knows ahead of the database.
pub(crate) struct WriterState {
    connection: Connection,
    /// How long to wait for another program that holds the file.
    patience: Duration,
    cache: WriterCache,
    /// Groups settled so far.
    groups: u64,
    progress: Arc<GroupProgress>,
    file: OpenFile,
}

/// The progress of the groups, for checks of the store's readiness.
#[derive(Debug, Default)]
pub(crate) struct GroupProgress {
    /// Whether the last transaction failed because of the database, and not because of its content.
    pub(crate) failing: AtomicBool,
    /// Since when a group has been under way.
    since: Mutex<Option<Instant>>,
}

impl GroupProgress {
    /// How long a group has been under way, if one is.
    pub(crate) fn under_way(&self) -> Option<Duration> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner).map(|since| since.elapsed())
    }

    fn set_since(&self, since: Option<Instant>) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }
}

/// What to do while another program holds the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    /// Wait for it to end, which blocks the thread.
    Wait,
    /// Return without waiting.
    Return,
}

/// What a probe writes, in bytes: about as much as a commit of a long answer.
const PROBE: u32 = 64 << 10;

impl WriterState {
    /// Creates the state on the connection to the file at this place. `patience` is how long to wait for
    /// another program that holds the file.
    pub(crate) fn new(connection: Connection, patience: Duration, file: OpenFile) -> Self {
        Self { connection, patience, cache: WriterCache::new(), groups: 0, progress: Arc::default(), file }
    }

    pub(crate) fn progress(&self) -> Arc<GroupProgress> {
        Arc::clone(&self.progress)
    }

    pub(crate) fn empty_inboxes(&self) -> EmptyInboxes {
        self.cache.empty_inboxes()
    }

    pub(crate) fn file(&self) -> &OpenFile {
        &self.file
    }

    #[cfg(test)]
    pub(crate) fn doubt_file(&mut self) {
        self.file.doubt();
    }

    #[cfg(test)]
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Settles a group in one transaction. If that fails, each job gets its own transaction, so that the
    /// failure of one does not affect the others. If nothing can be written at all, no job is tried again.
    /// Returns the jobs that are not settled; only [`Busy::Return`] leaves any.
    pub(crate) fn settle(&mut self, group: Vec<Job>, busy: Busy) -> Vec<Job> {
        self.progress.set_since(Some(Instant::now()));
        let written = self.together(&group, busy);
        self.progress.set_since(None);
        match written {
            Ok(outcomes) => {
                for (job, outcome) in group.into_iter().zip(outcomes) {
                    job.answer(outcome);
                }
                Vec::new()
            }
            Err(fault) if busy == Busy::Return && fault.is_busy() => group,
            Err(fault) => {
                let error = Error::from(fault);
                // Before any caller gets the error.
                self.progress.failing.fetch_or(error.is_outage(), Ordering::Relaxed);
                if group.len() == 1 || matches!(error, Error::Unavailable { .. }) {
                    group.into_iter().for_each(|job| job.answer(Err(error.clone())));
                    Vec::new()
                } else {
                    group.into_iter().flat_map(|job| self.settle(vec![job], busy)).collect()
                }
            }
        }
    }

    fn together(&mut self, group: &[Job], busy: Busy) -> Result<Vec<Reply<Done>>> {
        self.connection.busy_timeout(match busy {
            Busy::Wait => self.patience,
            Busy::Return => Duration::ZERO,
        })?;
        let writes = group.iter().any(|job| !matches!(job.work, Work::Claim(_)));
        if writes {
            self.file.check_at_times()?;
            self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        }
        let written = group.iter().map(|job| self.write(&job.work)).collect::<Result<Vec<_>>>();
        if !writes {
            return written;
        }
        let durable = written.and_then(|outcomes| {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(outcomes)
        });
        match &durable {
            Ok(_) => {
                self.progress.failing.store(false, Ordering::Relaxed);
                self.cache.mark_durable();
            }
            Err(_) => {
                self.cache.undone();
                // Some failures (a full disk) roll back by themselves, others leave that to us.
                if !self.connection.is_autocommit() {
                    let undone = self.connection.execute_batch("ROLLBACK");
                    if let Err(error) = undone {
                        tracing::error!(%error, "a group could not be rolled back");
                    }
                }
            }
        }
        durable
    }

    /// Does one job. A refusal is an outcome, because nothing was written yet; a failure while writing fails
    /// the group's transaction.
    fn write(&mut self, work: &Work) -> Result<Reply<Done>> {
        let (connection, cache) = (&self.connection, &mut self.cache);
        match work {
            Work::Claim(agent) => {
                let claimed = claim::claim(connection, cache, *agent)?;
                Ok(Ok(Done { claimed, ..Done::default() }))
            }
            Work::Probe => {
                // Written before the row of the last probe is deleted, so that it needs room of its own.
                connection
                    .prepare_cached("INSERT INTO probe (filler) VALUES (zeroblob(?1))")?
                    .execute([PROBE])?;
                connection
                    .prepare_cached("DELETE FROM probe WHERE n < ?1")?
                    .execute([connection.last_insert_rowid()])?;
                Ok(Ok(Done::default()))
            }
            Work::Commit(commit) => {
                if let Some(committed) = cache.committed(commit.id) {
                    return Ok(Ok(Done { committed, ..Done::default() }));
                }
                match commit.judge(&mut Rows { connection, cache }) {
                    Ok(accepted) => {
                        let done = apply::commit(connection, cache, commit, accepted)?;
                        cache.put_commit(commit.id, done.committed);
                        Ok(Ok(done))
                    }
                    Err(Rejection::Refused(refusal)) => Ok(Err(refusal)),
                    Err(Rejection::Failed(fault)) => Err(fault),
                }
            }
        }
    }

    /// Merges the log into the database file, as far as possible without waiting for readers.
    pub(crate) fn merge(&self) -> rusqlite::Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
    }

    /// Whether the log should be merged; checks only once in many groups.
    pub(crate) fn wal_needs_checkpoint(&mut self) -> bool {
        self.groups += 1;
        if !self.groups.is_multiple_of(64) {
            return false;
        }
        let pages = self.connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get::<_, u32>(1));
        pages.inspect_err(|error| tracing::warn!(%error, "the length of the log is not known")).unwrap_or(0)
            > MERGE
    }

    /// Writes what is known ahead of the database, merges the whole log into the database file, which is then
    /// the only file because the readers are closed, and closes the connection.
    pub(crate) fn close(self) {
        if let Err(error) = self.connection.busy_timeout(self.patience) {
            tracing::warn!(%error, "the end does not wait for other programs");
        }
        if let Err(error) = self.cache.persist_epochs(&self.connection) {
            tracing::warn!(?error, "the last epochs were not persisted; no activation holds them any more");
        }
        if let Err(error) = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
            tracing::warn!(%error, "the log was not merged into the database; the next start reads it");
        }
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(%error, "the database did not close");
        }
    }
}

#[cfg(test)]
mod tests {
    use entourage_store::{Commit, Write};
    use entourage_types::{Agent, Entity, EntityKind, Owner, Time};

    use tokio::sync::oneshot;

    use super::*;
    use crate::{events, job::Hints, key_range::KeyRange};

    fn record(owner: &str, id: &str, body: &str) -> Commit {
        let now = Time::now();
        Commit::new(now).write(Write::entity(Entity {
            kind: EntityKind::REQUEST,
            id: id.to_owned(),
            owner: Owner::new(owner),
            root: None,
            parent: None,
            status: "done".to_owned(),
            created: now,
            updated: now,
            version: 1,
            name: None,
            text: None,
            body: body.to_owned(),
        }))
    }

    /// Settles the commits as one group, and returns the result of each.
    fn settle_all<const N: usize>(state: &mut WriterState, commits: [Commit; N]) -> [Reply<Done>; N] {
        let mut answers = Vec::new();
        let group = commits.map(|commit| {
            let (author, answer) = oneshot::channel();
            answers.push(answer);
            Job { work: Work::Commit(commit), hints: Hints::new(1), author }
        });
        assert!(state.settle(group.into(), Busy::Return).is_empty());
        let mut answers = answers.into_iter();
        std::array::from_fn(|_| answers.next().unwrap().blocking_recv().unwrap())
    }

    fn ids(state: &WriterState) -> Vec<String> {
        let mut statement = state.connection.prepare("SELECT id FROM entities ORDER BY n").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    fn open() -> (tempfile::TempDir, WriterState) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("entourage.db");
        let connection = crate::open::writer(&path, None, true).unwrap();
        let state = WriterState::new(connection, Duration::ZERO, OpenFile::of(&path));
        (directory, state)
    }

    #[test]
    fn a_failed_commit_does_not_fail_the_others_of_its_group() {
        let (_directory, mut state) = open();
        let answers = settle_all(
            &mut state,
            [record("ann", "1", "{}"), record("bob", "1", "{}"), record("bob", "2", "{}")],
        );
        assert!(matches!(answers, [Ok(_), Err(Error::Exists { .. }), Ok(_)]));
        assert_eq!(ids(&state), ["1", "2"]);
    }

    fn pages(state: &WriterState) -> u32 {
        state.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap()
    }

    /// Leaves room on the disk for this many pages in total.
    fn limit_pages(state: &WriterState, pages: u32) {
        state.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    }

    #[test]
    fn an_undone_commit_uses_up_no_event_number() {
        let (_directory, mut state) = open();
        let root = Agent::root(Owner::new("ann"), "helper", "stays", Time::now());
        let answers =
            settle_all(&mut state, [Commit::new(root.created).write(Write::NewAgent(root.clone()))]);
        assert!(answers[0].is_ok());
        let limit = pages(&state) + 4;
        limit_pages(&state, limit);
        let child = Write::NewAgent(root.child("helper", "is told of", None, root.created));
        let large = record("ann", "large", &"x".repeat(1_000_000));
        let answers = settle_all(&mut state, [Commit::new(root.created).write(child), large]);
        assert!(matches!(&answers, [Ok(_), Err(Error::DiskFull(_))]), "{answers:?}");
        let tree = KeyRange::of(&state.connection, root.id).unwrap().unwrap();
        assert_eq!(events::last(&state.connection, tree).unwrap().0, 2, "one event for each agent");
    }

    #[test]
    fn a_full_disk_refuses_only_the_commits_that_do_not_fit() {
        let (_directory, mut state) = open();
        let limit = pages(&state) + 4;
        limit_pages(&state, limit);
        let large = "x".repeat(1_000_000);
        let answers = settle_all(&mut state, [record("ann", "small", "{}"), record("ann", "large", &large)]);
        assert!(matches!(&answers, [Ok(_), Err(Error::DiskFull(_))]));
        assert_eq!(ids(&state), ["small"]);
        limit_pages(&state, limit + 1_000);
        let answers = settle_all(&mut state, [record("ann", "large", &large), record("ann", "next", "{}")]);
        assert!(matches!(answers, [Ok(_), Ok(_)]));
        assert_eq!(ids(&state), ["small", "large", "next"]);
    }
}
