//! The one writer: a thread that commits whatever is waiting in one transaction, so that one sync
//! of the disk serves a whole group.

use std::{
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
};

use entourage_store::{Changed, Commit, Committed, Error};
use entourage_types::AgentId;
use rusqlite::Connection;
use tokio::sync::{broadcast, oneshot};

use crate::{
    agents, apply, check,
    fault::{Fault, Result},
};

/// At most this many jobs in one transaction, so that the first of them need not wait for long.
const GROUP: usize = 128;

/// Where subscribers are told what changed.
pub(crate) type Hints = broadcast::Sender<Arc<Changed>>;

/// What an author is told.
type Told<T> = std::result::Result<T, Error>;

/// Something to write, and whom to tell once it is durable.
struct Job {
    work: Work,
    author: oneshot::Sender<Told<Done>>,
}

enum Work {
    Commit(Commit),
    Claim(AgentId),
}

/// What a job came to: a commit fills in the first two, a claim the last.
#[derive(Default)]
struct Done {
    committed: Committed,
    changed: Changed,
    epoch: Option<u64>,
}

/// The handle of the writer's thread; dropping it ends the thread once its queue is empty.
pub(crate) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread on its connection.
    pub(crate) fn start(connection: Connection, hints: Hints) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || serve(connection, &queue, &hints))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Commits, and returns once it is durable.
    pub(crate) async fn commit(&self, commit: Commit) -> Told<Committed> {
        Ok(self.ask(Work::Commit(commit)).await?.committed)
    }

    /// Raises the epoch of the agent, and returns it once it is durable.
    pub(crate) async fn claim(&self, agent: AgentId) -> Told<Option<u64>> {
        Ok(self.ask(Work::Claim(agent)).await?.epoch)
    }

    async fn ask(&self, work: Work) -> Told<Done> {
        let (author, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or(Error::Closed)?;
        jobs.send(Job { work, author }).map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer had panicked");
        }
    }
}

fn serve(connection: Connection, queue: &mpsc::Receiver<Job>, hints: &Hints) {
    while let Ok(first) = queue.recv() {
        let group = std::iter::once(first).chain(queue.try_iter()).take(GROUP).collect();
        settle(&connection, group, hints);
    }
    // The readers are gone by now: the whole log goes into the database, which is then one file.
    if let Err(error) = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
        tracing::warn!(%error, "the log was not merged into the database; the next start reads it");
    }
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the database did not close");
    }
}

/// Settles a group in one transaction. Should that fail, each job gets one of its own: the failure
/// of one is not the others'.
fn settle(connection: &Connection, group: Vec<Job>, hints: &Hints) {
    match together(connection, &group) {
        Ok(outcomes) => {
            for (job, outcome) in group.into_iter().zip(outcomes) {
                answer(job, outcome, hints);
            }
        }
        Err(fault) => match <[Job; 1]>::try_from(group) {
            Ok([job]) => answer(job, Err(fault.into()), hints),
            Err(group) => group.into_iter().for_each(|job| settle(connection, vec![job], hints)),
        },
    }
}

fn together(connection: &Connection, group: &[Job]) -> Result<Vec<Told<Done>>> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let written = group.iter().map(|job| write(connection, &job.work)).collect::<Result<Vec<_>>>();
    let durable = written.and_then(|outcomes| {
        connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(outcomes)
    });
    // Some failures (a full disk) roll back by themselves, others leave that to us.
    if durable.is_err() && !connection.is_autocommit() {
        connection.prepare_cached("ROLLBACK")?.execute([])?;
    }
    durable
}

/// Does one job. A refusal is an outcome, since nothing was written yet; a failure while writing
/// takes the group's transaction with it.
fn write(connection: &Connection, work: &Work) -> Result<Told<Done>> {
    match work {
        Work::Claim(agent) => {
            let epoch = agents::raise_epoch(connection, *agent)?;
            Ok(Ok(Done { epoch, ..Done::default() }))
        }
        Work::Commit(commit) => match check::commit(connection, commit) {
            Ok(writer) => {
                let (committed, changed) = apply::commit(connection, commit, writer.as_ref())?;
                Ok(Ok(Done { committed, changed, epoch: None }))
            }
            Err(Fault::Told(refusal)) => Ok(Err(refusal)),
            Err(fault) => Err(fault),
        },
    }
}

/// Tells the subscribers, then the author. Either may have stopped listening; that is theirs.
fn answer(job: Job, outcome: Told<Done>, hints: &Hints) {
    let outcome = outcome.map(|mut done| {
        let changed = std::mem::take(&mut done.changed);
        if !(changed.wakeups.is_empty() && changed.events.is_empty()) {
            let _ = hints.send(Arc::new(changed));
        }
        done
    });
    let _ = job.author.send(outcome);
}

#[cfg(test)]
mod tests {
    use entourage_store::Write;
    use entourage_types::{Entity, EntityKind, Owner, Time};

    use super::*;

    fn record(owner: &str, id: &str, body: &str) -> Commit {
        let now = Time::now();
        Commit::new(now).write(Write::Entity(Entity {
            kind: EntityKind::Request,
            id: id.to_owned(),
            owner: Owner::new(owner),
            root: None,
            parent: None,
            status: "done".to_owned(),
            created: now,
            updated: now,
            text: None,
            body: body.to_owned(),
        }))
    }

    /// Settles the commits as one group, and returns what each author is told.
    fn settle_all<const N: usize>(connection: &Connection, commits: [Commit; N]) -> [Told<Done>; N] {
        let mut answers = Vec::new();
        let group = commits.map(|commit| {
            let (author, answer) = oneshot::channel();
            answers.push(answer);
            Job { work: Work::Commit(commit), author }
        });
        settle(connection, group.into(), &Hints::new(1));
        let mut answers = answers.into_iter();
        std::array::from_fn(|_| answers.next().unwrap().blocking_recv().unwrap())
    }

    fn ids(connection: &Connection) -> Vec<String> {
        let mut statement = connection.prepare("SELECT id FROM entities ORDER BY n").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    fn open() -> (tempfile::TempDir, Connection) {
        let directory = tempfile::tempdir().unwrap();
        let connection = crate::open::writer(&directory.path().join("house.db"), None).unwrap();
        (directory, connection)
    }

    #[test]
    fn a_failure_takes_nobody_else_of_its_group_along() {
        let (_directory, connection) = open();
        let told = settle_all(
            &connection,
            [record("ann", "1", "{}"), record("bob", "1", "{}"), record("bob", "2", "{}")],
        );
        assert!(matches!(told, [Ok(_), Err(Error::Exists { .. }), Ok(_)]));
        assert_eq!(ids(&connection), ["1", "2"]);
    }

    #[test]
    fn a_full_disk_refuses_what_does_not_fit_and_nothing_else() {
        let (_directory, connection) = open();
        let pages: u32 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        let room = |pages: u32| {
            connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
        };
        room(pages + 4);
        let large = "x".repeat(1_000_000);
        let told = settle_all(&connection, [record("ann", "small", "{}"), record("ann", "large", &large)]);
        assert!(matches!(&told, [Ok(_), Err(Error::DiskFull(_))]));
        assert_eq!(ids(&connection), ["small"]);
        room(pages + 1_000);
        let told = settle_all(&connection, [record("ann", "large", &large), record("ann", "next", "{}")]);
        assert!(matches!(told, [Ok(_), Ok(_)]));
        assert_eq!(ids(&connection), ["small", "large", "next"]);
    }
}
