//! Reads that never wait for the writer: short ones on the caller's own thread, those that may be long on a
//! few threads that serve the owners in turn.
//!
//! Passing a job to another thread and back costs more than reading one row. A list may take long, though,
//! and an owner that asks for many must not keep others waiting: each owner has its own line (a queue), and
//! no line uses all threads if there are several. A read whose caller no longer waits is skipped, or
//! interrupted if it has begun.

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread::{self, JoinHandle},
};

use entourage_store::Error;
use entourage_types::{Owner, Scope};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::fault::Result;

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// The owner whose reads wait in a line; none for those of the engine itself.
type Line = Option<Owner>;

/// Steps of SQLite between two checks whether the caller still waits: less than a millisecond.
const STEPS: i32 = 1_000;

thread_local! {
    /// Alive while a caller waits for what this thread reads.
    static AWAITED: RefCell<Weak<()>> = const { RefCell::new(Weak::new()) };
}

/// The connections that read. Dropping this ends its threads.
pub(crate) struct Readers {
    /// For reads on the caller's thread.
    near: Mutex<Vec<Connection>>,
    lines: Arc<Lines>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Starts a thread for each of the connections `far`; the connections `near` read on callers' threads.
    pub(crate) fn start(near: Vec<Connection>, far: Vec<Connection>) -> std::io::Result<Self> {
        let lines = Arc::new(Lines::new(far.len()));
        let threads = far
            .into_iter()
            .map(|mut connection| {
                let lines = Arc::clone(&lines);
                thread::Builder::new().name("store-reader".to_owned()).spawn(move || {
                    let watched = connection.progress_handler(STEPS, Some(is_abandoned));
                    if let Err(error) = watched {
                        tracing::warn!(%error, "reads cannot be broken off");
                    }
                    while let Some((line, job)) = lines.next() {
                        job(&connection);
                        lines.done(&line);
                    }
                })
            })
            .collect::<std::io::Result<_>>()?;
        Ok(Self { near: Mutex::new(near), lines, threads })
    }

    /// Runs a short read: at once on this thread if a connection is free, otherwise like
    /// [`read`](Self::read).
    pub(crate) async fn read_short<T: Send + 'static>(
        &self,
        scope: &Scope,
        read: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, Error> {
        let free = locked(&self.near).pop();
        let Some(connection) = free else { return self.read(scope, read).await };
        let found = read(&connection);
        locked(&self.near).push(connection);
        Ok(found?)
    }

    /// Runs a read that may be long, on another thread, when it is the owner's turn.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        scope: &Scope,
        read: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let waits = Arc::new(());
        let awaited = Arc::downgrade(&waits);
        let job = move |connection: &Connection| {
            if !reply.is_closed() {
                AWAITED.set(awaited);
                let _ = reply.send(read(connection));
            }
        };
        self.lines.wait(scope.owner().cloned(), Box::new(job))?;
        let found = answer.await.map_err(|_| Error::Closed)?;
        drop(waits);
        Ok(found?)
    }
}

/// Whether no caller waits any more for what this thread reads.
fn is_abandoned() -> bool {
    AWAITED.with_borrow(|awaited| awaited.strong_count() == 0)
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.lines.close();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a reader of the store had panicked");
            }
        }
    }
}

/// Waiting reads, in a line for each owner.
struct Lines {
    standing: Mutex<LineState>,
    changed: Condvar,
    /// The maximum number of threads that serve one line.
    share: usize,
}

#[derive(Default)]
struct LineState {
    /// The lines with waiting reads.
    waiting: HashMap<Line, VecDeque<Job>>,
    /// The order of turns, with each line that has waiting reads once.
    turns: VecDeque<Line>,
    /// The number of threads that serve each line.
    at_work: HashMap<Line, usize>,
    closed: bool,
}

impl Lines {
    fn new(threads: usize) -> Self {
        Self { standing: Mutex::default(), changed: Condvar::new(), share: threads.saturating_sub(1).max(1) }
    }

    /// Puts a read at the end of its line.
    fn wait(&self, line: Line, job: Job) -> std::result::Result<(), Error> {
        let mut standing = locked(&self.standing);
        if standing.closed {
            return Err(Error::Closed);
        }
        if !standing.waiting.contains_key(&line) {
            standing.turns.push_back(line.clone());
        }
        standing.waiting.entry(line).or_default().push_back(job);
        drop(standing);
        self.changed.notify_one();
        Ok(())
    }

    /// Returns the next read of the first line that has less than its share of threads, and moves the line to
    /// the end of the turns. Waits while there is none; returns none then if the lines are closed.
    fn next(&self) -> Option<(Line, Job)> {
        let mut standing = locked(&self.standing);
        loop {
            if let Some(next) = standing.take(self.share) {
                return Some(next);
            }
            if standing.closed {
                return None;
            }
            standing = self.changed.wait(standing).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Records that a thread has finished a read of a line.
    fn done(&self, line: &Line) {
        let mut standing = locked(&self.standing);
        if let Some(threads) = standing.at_work.get_mut(line) {
            *threads -= 1;
            if *threads == 0 {
                standing.at_work.remove(line);
            }
        }
        drop(standing);
        // A line that was passed over may have its turn now.
        self.changed.notify_one();
    }

    /// Accepts no more reads; those that wait are still served.
    fn close(&self) {
        locked(&self.standing).closed = true;
        self.changed.notify_all();
    }
}

impl LineState {
    fn take(&mut self, share: usize) -> Option<(Line, Job)> {
        let may = |line: &Line| self.at_work.get(line).is_none_or(|threads| *threads < share);
        let turn = self.turns.iter().position(may)?;
        let line = self.turns.remove(turn)?;
        let waiting = self.waiting.get_mut(&line)?;
        let job = waiting.pop_front()?;
        if waiting.is_empty() {
            self.waiting.remove(&line);
        } else {
            self.turns.push_back(line.clone());
        }
        *self.at_work.entry(line.clone()).or_default() += 1;
        Some((line, job))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs several reads in one snapshot of the database. Only these are broken off if their caller no longer waits: a
/// beginning or an end that is would leave the snapshot open for the reads of others.
pub(crate) fn snapshot<T>(connection: &Connection, read: impl FnOnce() -> Result<T>) -> Result<T> {
    unbroken(|| connection.prepare_cached("BEGIN")?.execute([]))?;
    let read = read();
    unbroken(|| {
        let ended = connection.prepare_cached("COMMIT")?.execute([]);
        if !connection.is_autocommit() {
            connection.prepare_cached("ROLLBACK")?.execute([])?;
        }
        ended
    })?;
    read
}

/// Runs something as if its caller waited in any case.
fn unbroken<T>(run: impl FnOnce() -> T) -> T {
    let waits = Arc::new(());
    let awaited = AWAITED.replace(Arc::downgrade(&waits));
    let done = run();
    AWAITED.set(awaited);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Line {
        Some(Owner::new(name))
    }

    /// Puts a read that does nothing into a line.
    fn wait(lines: &Lines, line: &Line) {
        lines.wait(line.clone(), Box::new(|_| {})).unwrap();
    }

    #[test]
    fn owners_take_turns_and_none_occupies_every_thread() {
        let lines = Lines::new(3);
        let (greedy, other) = (owner("greedy"), owner("other"));
        for _ in 0..5 {
            wait(&lines, &greedy);
        }
        wait(&lines, &other);
        let next = || lines.next().unwrap().0;
        assert_eq!([next(), next()], [greedy.clone(), other.clone()], "in turn");
        assert_eq!(next(), greedy);
        wait(&lines, &other);
        lines.done(&other);
        assert_eq!(next(), other, "two of three threads are greedy's, the third stays for others");
        assert!(locked(&lines.standing).take(lines.share).is_none());
        lines.done(&greedy);
        assert_eq!(next(), greedy);
    }

    /// A read that never ends by itself, and signals when it has begun.
    fn endless(begins: oneshot::Sender<()>) -> impl FnOnce(&Connection) -> Result<i64> + Send {
        let endless =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        move |connection| {
            let _ = begins.send(());
            Ok(connection.query_row(endless, [], |row| row.get(0))?)
        }
    }

    fn seven(connection: &Connection) -> Result<i64> {
        Ok(connection.query_row("SELECT 7", [], |row| row.get(0))?)
    }

    #[tokio::test]
    async fn an_abandoned_read_is_interrupted() {
        let readers = Readers::start(Vec::new(), vec![Connection::open_in_memory().unwrap()]).unwrap();
        let (begins, begun) = oneshot::channel();
        tokio::select! {
            _ = readers.read(&Scope::All, endless(begins)) => panic!("it has no end"),
            begun = begun => begun.unwrap(),
        }
        assert_eq!(readers.read(&Scope::All, seven).await.unwrap(), 7, "on the same thread");
    }

    /// However often reads are abandoned at whatever step, none leaves its snapshot open for those after it.
    #[tokio::test]
    async fn an_abandoned_read_leaves_no_snapshot_open() {
        let readers = Readers::start(Vec::new(), vec![Connection::open_in_memory().unwrap()]).unwrap();
        let (begins, begun) = oneshot::channel();
        let abandoned = move |connection: &Connection| {
            let _ = begins.send(());
            while !is_abandoned() {
                thread::yield_now();
            }
            for _ in 0..STEPS {
                let _ = snapshot(connection, || seven(connection));
            }
            Ok(())
        };
        tokio::select! {
            _ = readers.read(&Scope::All, abandoned) => panic!("it was abandoned"),
            begun = begun => begun.unwrap(),
        }
        let next = |connection: &Connection| snapshot(connection, || seven(connection));
        assert_eq!(readers.read(&Scope::All, next).await.unwrap(), 7, "on the same thread");
    }

    #[tokio::test]
    async fn a_short_read_runs_while_every_thread_for_long_reads_is_busy() {
        let connection = || Connection::open_in_memory().unwrap();
        let readers = Readers::start(vec![connection()], vec![connection()]).unwrap();
        let (begins, begun) = oneshot::channel();
        let short = async {
            begun.await.unwrap();
            readers.read_short(&Scope::All, seven).await.unwrap()
        };
        tokio::select! {
            _ = readers.read(&Scope::All, endless(begins)) => panic!("it has no end"),
            found = short => assert_eq!(found, 7),
        }
    }
}
