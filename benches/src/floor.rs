//! The floors: programs that do only the necessary work.

use std::{cell::RefCell, path::Path, sync::mpsc};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use rusqlite::{Connection, OpenFlags, params, types::ValueRef};
use tokio::sync::oneshot;

/// An HTTP client and nothing else.
pub(crate) struct Http {
    client: reqwest::Client,
    url: String,
}

impl Http {
    pub(crate) fn new(url: String) -> Result<Self> {
        Ok(Self { client: client()?, url })
    }

    /// Sends a request and passes each piece of the answer to `piece` as it arrives.
    pub(crate) async fn post(&self, body: Bytes, mut piece: impl FnMut(&[u8])) -> Result<()> {
        let request = self.client.post(&self.url).header(CONTENT_TYPE, "application/json");
        let mut response = request.header(AUTHORIZATION, "Bearer none").body(body).send().await?;
        ensure!(response.status().is_success(), "the model server answers {}", response.status());
        while let Some(bytes) = response.chunk().await? {
            piece(&bytes);
        }
        Ok(())
    }
}

/// A client for plain HTTP: loading certificates takes milliseconds, and nothing here uses TLS.
pub(crate) fn client() -> Result<reqwest::Client> {
    Ok(reqwest::Client::builder().tcp_nodelay(true).tls_certs_only([]).build()?)
}

/// The rows that a run leaves behind, by their sizes in bytes.
pub(crate) type Rows = Vec<usize>;

/// A log in SQLite and nothing else: WAL, `synchronous=NORMAL`, no index.
pub(crate) struct Log {
    connection: RefCell<Connection>,
}

impl Log {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
        connection.execute_batch("CREATE TABLE log (n INTEGER PRIMARY KEY, body TEXT NOT NULL)")?;
        Ok(Self { connection: RefCell::new(connection) })
    }

    /// Opens such a log with every commit on disk when it returns.
    pub(crate) fn open_durable(path: &Path) -> Result<Self> {
        let log = Self::open(path)?;
        log.connection.borrow().pragma_update(None, "synchronous", "FULL")?;
        Ok(log)
    }

    /// Appends rows of these sizes in one commit.
    pub(crate) fn append(&self, rows: &[usize]) -> Result<()> {
        let mut connection = self.connection.borrow_mut();
        let text = "x".repeat(rows.iter().copied().max().unwrap_or(0));
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached("INSERT INTO log (body) VALUES (?1)")?;
            for &bytes in rows {
                insert.execute(params![&text[..bytes]])?;
            }
        }
        Ok(transaction.commit()?)
    }
}

/// Such a log at `synchronous=FULL`, whose thread writes everything queued meanwhile in one commit.
pub(crate) struct Grouped {
    jobs: mpsc::Sender<(Rows, oneshot::Sender<()>)>,
}

impl Grouped {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let log = Log::open_durable(path)?;
        let (jobs, queue) = mpsc::channel::<(Rows, oneshot::Sender<()>)>();
        std::thread::spawn(move || {
            while let Ok(first) = queue.recv() {
                let group: Vec<_> = std::iter::once(first).chain(queue.try_iter()).collect();
                let rows: Rows = group.iter().flat_map(|(rows, _)| rows).copied().collect();
                if log.append(&rows).is_err() {
                    return;
                }
                for (_, written) in group {
                    // The caller may no longer wait.
                    let _ = written.send(());
                }
            }
        });
        Ok(Self { jobs })
    }

    /// Appends rows of these sizes; they are on disk when this returns.
    pub(crate) async fn append(&self, rows: Rows) -> Result<()> {
        let (written, done) = oneshot::channel();
        self.jobs.send((rows, written)).ok().context("the log has ended")?;
        Ok(done.await?)
    }
}

/// Returns the rows that the engine keeps of one agent, from its database.
pub(crate) fn rows_of(database: &Path, agent: &str) -> Result<Rows> {
    const KEPT: [&str; 5] = [
        "SELECT id, owner, root, parent, depth, kind, key, title, status, waiting_on, epoch, session, created, \
         updated, stop_reason FROM agents WHERE id = ?1",
        "SELECT * FROM runs WHERE agent = ?1",
        "SELECT items.* FROM agents JOIN items ON items.n >= agents.n << 32 AND items.n < (agents.n + 1) << 32 \
         WHERE agents.id = ?1",
        "SELECT * FROM events WHERE agent = ?1",
        "SELECT steps.* FROM steps JOIN runs ON runs.id = steps.run WHERE runs.agent = ?1",
    ];
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut sizes = Rows::new();
    for query in KEPT {
        let mut statement = connection.prepare(query)?;
        let columns = statement.column_count();
        let mut rows = statement.query([agent])?;
        while let Some(row) = rows.next()? {
            let mut bytes = 0;
            for column in 0..columns {
                bytes += match row.get_ref(column)? {
                    ValueRef::Null => 0,
                    ValueRef::Integer(_) | ValueRef::Real(_) => 4,
                    ValueRef::Text(text) | ValueRef::Blob(text) => text.len(),
                };
            }
            sizes.push(bytes);
        }
    }
    Ok(sizes)
}
