//! The worker: reads what is due, at intervals and on hints, works on it within the places, and tries again
//! what fails.

use std::{collections::HashMap, sync::Arc};

use entourage_types::Time;
use tokio::{
    sync::broadcast::error::RecvError,
    task::{Id, JoinError, JoinSet},
};
use tokio_util::sync::CancellationToken;

use super::{Cause, DueRows, queue::Queue};
use crate::Clock;

/// Works on rows until it is stopped. What is in progress then is dropped; its rows stay.
pub(crate) async fn work<R: DueRows>(rows: R, clock: Arc<dyn Clock>, stop: CancellationToken) {
    // Subscribe before the first read, so that no row is missed in between.
    let mut hints = rows.hints();
    let mut worker = Worker::new(rows, clock);
    while !stop.is_cancelled() {
        let now = worker.clock.now();
        if worker.horizon <= now {
            worker.look(now).await;
        }
        worker.begin();
        let next = worker.queue.next().map_or(worker.horizon, |due| due.min(worker.horizon));
        tokio::select! {
            Some(ended) = worker.in_progress.join_next_with_id() => worker.ended(ended),
            hint = hints.recv() => match hint {
                Ok(hint) => {
                    let due = worker.rows.hinted(&hint, worker.clock.now());
                    due.into_iter().for_each(|(key, due)| worker.put(key, due));
                }
                Err(RecvError::Lagged(_)) => worker.horizon = worker.clock.now(),
                Err(RecvError::Closed) => return,
            },
            () = worker.clock.sleep_until(next) => {}
            () = stop.cancelled() => {}
        }
    }
}

/// Works on the rows that are due now, each until it is not due any more or fails, and at most until `end`.
pub(crate) async fn work_off<R: DueRows>(rows: R, clock: Arc<dyn Clock>, end: Time) {
    let mut worker = Worker::new(rows, clock);
    worker.look(worker.clock.now()).await;
    loop {
        worker.begin();
        tokio::select! {
            biased;
            ended = worker.in_progress.join_next_with_id() => match ended {
                Some(ended) => worker.ended(ended),
                None => return,
            },
            () = worker.clock.sleep_until(end) => return,
        }
    }
}

/// Consecutive failures of a key.
struct Failures {
    count: u32,
    /// Until when it is not tried again.
    until: Time,
}

struct Worker<R: DueRows> {
    rows: Arc<R>,
    clock: Arc<dyn Clock>,
    queue: Queue<R::Key, R::Lane>,
    in_progress: JoinSet<Result<Option<Time>, Cause>>,
    /// The key of each task, also of one that panics.
    keys: HashMap<Id, R::Key>,
    failures: HashMap<R::Key, Failures>,
    /// Consecutive failures to read the store.
    unread: u32,
    /// Up to when all that is due is in memory; then the store is read again.
    horizon: Time,
}

impl<R: DueRows> Worker<R> {
    fn new(rows: R, clock: Arc<dyn Clock>) -> Self {
        Self {
            rows: Arc::new(rows),
            queue: Queue::new(R::PLACES),
            in_progress: JoinSet::new(),
            keys: HashMap::new(),
            failures: HashMap::new(),
            unread: 0,
            horizon: clock.now(),
            clock,
        }
    }

    /// Reads what is due up to the next horizon.
    async fn look(&mut self, now: Time) {
        self.horizon = now + R::HORIZON;
        match self.rows.due(self.horizon).await {
            Ok(due) => {
                self.unread = 0;
                self.queue.clear();
                due.into_iter().for_each(|(key, due)| self.put(key, due));
            }
            Err(error) => {
                tracing::error!(%error, "due work could not be read");
                self.unread += 1;
                self.horizon = now + R::FAILING.after(self.unread);
            }
        }
    }

    /// Puts a key into the queue, unless it is due after the horizon: the store has it.
    fn put(&mut self, key: R::Key, due: Time) {
        let due = self.failures.get(&key).map_or(due, |failures| failures.until.max(due));
        if due <= self.horizon {
            self.queue.put(&R::lane(&key), key, due);
        }
    }

    /// Begins work on what is due and has a place.
    fn begin(&mut self) {
        while let Some(key) = self.queue.take(self.clock.now()) {
            let (rows, of) = (Arc::clone(&self.rows), key.clone());
            let task = self.in_progress.spawn(async move { rows.work(&of).await });
            self.keys.insert(task.id(), key);
        }
    }

    /// Handles the end of a piece of work; a panic is a failure.
    fn ended(&mut self, ended: Result<(Id, Result<Option<Time>, Cause>), JoinError>) {
        let (task, result) = match ended {
            Ok((task, result)) => (task, result),
            Err(died) => (died.id(), Err(died.into())),
        };
        let Some(key) = self.keys.remove(&task) else { return };
        let (lane, now) = (R::lane(&key), self.clock.now());
        match result {
            Ok(again) => {
                self.failures.remove(&key);
                self.queue.ended(&lane, key, again.filter(|due| *due <= self.horizon), now);
            }
            Err(cause) => {
                let failures = self.failures.entry(key.clone()).or_insert(Failures { count: 0, until: now });
                failures.count += 1;
                failures.until = now + R::FAILING.after(failures.count);
                tracing::warn!(?key, failures = failures.count, %cause, "due work failed; it is tried again");
                let until = failures.until;
                self.queue.ended(&lane, key, Some(until), until);
            }
        }
    }
}
