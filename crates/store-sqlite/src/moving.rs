//! All rows of a database file, to be moved elsewhere: read in one snapshot by a thread of its own, while the lock of the
//! file keeps every other program of ours away.

use std::{
    path::Path,
    thread::{self, JoinHandle},
};

use async_trait::async_trait;
use entourage_store::{
    Error, Result,
    moving::{KeptUsage, Reservation, RowSource, StoredRows},
};
use entourage_types::{Event, EventBody};
use rusqlite::{Connection, Row};
use tokio::sync::mpsc;

use crate::{
    SqliteFile, agents, budgets, entities,
    fault::{self, Fault},
    inbox, items,
    key_range::number,
    lock::{self, Lock},
    open,
    rows::{count, json, time, word},
    runs, usage,
};

/// How many rows a page has at most.
const ROWS: usize = 512;
/// The bytes of texts at which a page ends.
const BYTES: usize = 1 << 20;
/// How many pages are read ahead.
const AHEAD: usize = 1;

/// All rows of a database file, in one snapshot. Until it is dropped, nobody else opens the file.
pub struct SqliteRows {
    count: u64,
    /// None once dropped, which ends the thread.
    pages: Option<mpsc::Receiver<Result<StoredRows>>>,
    thread: Option<JoinHandle<()>>,
}

impl SqliteFile {
    /// All rows of this file, which stays as it is, and is locked until they are dropped.
    ///
    /// # Errors
    /// [`Error::InUse`] if a process works on it; [`Error::Unusable`] if there is no database of this program's version.
    pub async fn rows(&self) -> Result<SqliteRows> {
        self.blocking(|file| SqliteRows::of(file.path())).await
    }
}

impl SqliteRows {
    fn of(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Err(open::unusable(path, "there is no database yet"));
        }
        let path = &path.canonicalize().unwrap_or(path.into());
        let lock = lock::take(path)?;
        let connection = open::visitor(path)?;
        match open::ours(path, &connection)? {
            0 => return Err(open::unusable(path, "it is empty")),
            version => open::expect(path, version, false)?,
        }
        connection.execute_batch("BEGIN").map_err(Fault::from)?;
        // The snapshot begins with this read.
        let all = "SELECT (SELECT count(*) FROM agents) + (SELECT count(*) FROM items) + (SELECT count(*) FROM runs) \
                   + (SELECT count(*) FROM steps) + (SELECT count(*) FROM inbox) + (SELECT count(*) FROM wakeups) \
                   + (SELECT count(*) FROM events) + (SELECT count(*) FROM entities) + (SELECT count(*) FROM budgets) \
                   + (SELECT count(*) FROM reservations) + (SELECT count(*) FROM usage_of_owners) \
                   + (SELECT count(*) FROM usage_of_removed)";
        let count = connection.query_row(all, [], |row| count(row, 0)).map_err(Fault::from)?;
        let (sender, pages) = mpsc::channel(AHEAD);
        let reader = Reader { connection, sender, _lock: lock };
        let thread = thread::Builder::new()
            .name("store-move".to_owned())
            .spawn(move || reader.run())
            .map_err(|error| open::unusable(path, format!("a thread cannot be started: {error}")))?;
        Ok(Self { count, pages: Some(pages), thread: Some(thread) })
    }
}

#[async_trait]
impl RowSource for SqliteRows {
    fn count(&self) -> u64 {
        self.count
    }

    async fn next(&mut self) -> Result<Option<StoredRows>> {
        match &mut self.pages {
            Some(pages) => pages.recv().await.transpose(),
            None => Ok(None),
        }
    }
}

/// The file is free once this has returned.
impl Drop for SqliteRows {
    fn drop(&mut self) {
        drop(self.pages.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the reader of all rows had panicked");
        }
    }
}

/// What the thread has. The connection is closed before the lock is released.
struct Reader {
    connection: Connection,
    sender: mpsc::Sender<Result<StoredRows>>,
    _lock: Lock,
}

impl Reader {
    fn run(self) {
        if let Err(fault) = self.read() {
            // Fails if nobody waits any more.
            let _ = self.sender.blocking_send(Err(fault.into()));
        }
    }

    /// Sends all rows, each kind behind those that it refers to. What belongs to no agent any more is left out, as no read
    /// finds it either.
    fn read(&self) -> fault::Result<()> {
        let agents = format!("SELECT {} FROM agents ORDER BY n", agents::COLUMNS);
        self.pages(&agents, agents::read, StoredRows::Agents)?;
        let items = "SELECT items.n, agents.id, run, items.session, at, type, body, step FROM items \
                     JOIN agents ON agents.n = items.n >> 32 ORDER BY items.n";
        let item = |row: &Row<'_>| items::read_of(word(row, 1)?, number(row.get(0)?), word(row, 2)?, row, 3);
        self.pages(items, item, StoredRows::Items)?;
        let runs = format!("SELECT {} FROM runs ORDER BY n", runs::COLUMNS);
        self.pages(&runs, runs::read, StoredRows::Runs)?;
        let steps = format!("SELECT {} FROM steps ORDER BY n", runs::STEP);
        self.pages(&steps, runs::read_step, StoredRows::Steps)?;
        let posts = format!("SELECT {}, n FROM inbox ORDER BY n, agent, id", inbox::POST);
        let post = |row: &Row<'_>| inbox::read_post(row).map(|(_, post)| post);
        self.pages(&posts, post, StoredRows::Posts)?;
        let wakeups = format!("SELECT {} FROM wakeups ORDER BY due, id", inbox::WAKEUP);
        self.pages(&wakeups, inbox::read_wakeup, StoredRows::Wakeups)?;
        let events = "SELECT events.n, root.id, agent, at, item_seq, body FROM events \
                      JOIN agents AS root ON root.n = events.n >> 32 ORDER BY events.n";
        self.pages(events, event, StoredRows::Events)?;
        let records = format!("SELECT {} FROM entities ORDER BY n", entities::COLUMNS);
        self.pages(&records, entities::read, StoredRows::Records)?;
        let budgets = format!("SELECT {} FROM budgets ORDER BY id", budgets::COLUMNS);
        self.pages(&budgets, budgets::read, StoredRows::Budgets)?;
        let reservations = "SELECT agent, budget, cost, tokens FROM reservations ORDER BY agent, budget";
        let reservation = |row: &Row<'_>| {
            let amount = budgets::amount(row, 2)?;
            Ok(Reservation { agent: word(row, 0)?, budget: word(row, 1)?, amount })
        };
        self.pages(reservations, reservation, StoredRows::Reservations)?;
        self.usage("usage_of_owners", StoredRows::UsageOfEnded)?;
        self.usage("usage_of_removed", StoredRows::UsageOfRemoved)
    }

    fn usage(&self, table: &str, page: fn(Vec<KeptUsage>) -> StoredRows) -> fault::Result<()> {
        let columns = usage::KEPT;
        let sums = format!("SELECT {columns} FROM {table} ORDER BY owner, day, hour, model, kind");
        let sum = |row: &Row<'_>| {
            let (by, spent) = usage::read_kept(row)?;
            Ok(KeptUsage { owner: by.owner, kind: by.kind.unwrap_or_default(), spent })
        };
        self.pages(&sums, sum, page)
    }

    /// Sends the rows of a query, in its order.
    fn pages<T>(
        &self,
        query: &str,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
        page: fn(Vec<T>) -> StoredRows,
    ) -> fault::Result<()> {
        let mut statement = self.connection.prepare(query)?;
        let mut rows = statement.query([])?;
        let (mut some, mut size) = (Vec::new(), 0);
        loop {
            let row = rows.next()?;
            if let Some(row) = row {
                some.push(read(row)?);
                for column in 0..row.as_ref().column_count() {
                    size += row.get_ref(column)?.as_str().map_or(0, str::len);
                }
            }
            let is_last = row.is_none();
            if !some.is_empty() && (is_last || some.len() >= ROWS || size >= BYTES) {
                let sent = self.sender.blocking_send(Ok(page(std::mem::take(&mut some))));
                sent.map_err(|_| Error::Closed)?;
                size = 0;
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

/// An event, without the item that it may be about.
fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
    let body = match row.get::<_, Option<i64>>(4)? {
        Some(_) => EventBody::Item { item_seq: count(row, 4)?, item: None },
        None => json(row, 5)?,
    };
    Ok(Event { root: word(row, 1)?, seq: number(row.get(0)?), agent: word(row, 2)?, at: time(row, 3)?, body })
}
