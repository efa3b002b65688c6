//! The readers: a few threads, each with a connection of its own, which never wait for the writer.

use std::{
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
};

use entourage_store::Error;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::fault::Result;

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// The handle of the readers' threads; dropping it ends them.
pub(crate) struct Readers {
    jobs: Option<mpsc::Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Starts a thread for each connection.
    pub(crate) fn start(connections: Vec<Connection>) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let threads = connections
            .into_iter()
            .map(|connection| {
                let queue = Arc::clone(&queue);
                thread::Builder::new().name("store-reader".to_owned()).spawn(move || {
                    while let Some(job) = next(&queue) {
                        job(&connection)
                    }
                })
            })
            .collect::<std::io::Result<_>>()?;
        Ok(Self { jobs: Some(jobs), threads })
    }

    /// Reads on whichever connection is free first.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, Error> {
        let (told, answer) = oneshot::channel();
        let job = move |connection: &Connection| {
            // Whoever no longer waits is not worth a read.
            if !told.is_closed() {
                let _ = told.send(read(connection));
            }
        };
        let jobs = self.jobs.as_ref().ok_or(Error::Closed)?;
        jobs.send(Box::new(job)).map_err(|_| Error::Closed)?;
        Ok(answer.await.map_err(|_| Error::Closed)??)
    }
}

fn next(queue: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a reader of the store had panicked");
            }
        }
    }
}

/// Reads several times at one moment of the database.
pub(crate) fn snapshot<T>(connection: &Connection, read: impl FnOnce() -> Result<T>) -> Result<T> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let read = read();
    connection.prepare_cached("COMMIT")?.execute([])?;
    read
}
