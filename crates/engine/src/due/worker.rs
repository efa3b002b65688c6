//! The loop of a worker: reads, starts and waits, until it is stopped.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use entourage_store::Error as StoreError;
use entourage_types::Time;
use futures::FutureExt;
use tokio::{
    sync::broadcast::error::{RecvError, TryRecvError},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{
    Hints, Next, Work,
    queue::{Queue, Trigger},
};
use crate::{Clock, Error, Result, Tick};

/// The worker reads another page when fewer keys than this can be started.
const LOW: usize = 250;

/// A key whose work has ended, its lane, and what the work returned, or with which message it panicked.
pub(crate) type Ended<W> = (<W as Work>::Key, <W as Work>::Lane, Result<<W as Work>::Outcome, String>);

/// Works on what is due.
pub(crate) struct Worker<W: Work> {
    work: W,
    hints: Hints<W::Hint>,
    clock: Arc<dyn Clock>,
    queue: Queue<W::Key, W::Lane>,
    tasks: JoinSet<Ended<W>>,
    /// Up to where what is due has been read.
    cursor: Option<W::Cursor>,
    /// Whether the store has more than was read.
    more: bool,
    /// Once `more` is false, all that is due up to this time is in memory.
    horizon: Time,
    /// When it is read again, whatever the machine's clock says by then: one that was ahead has set the horizon too far.
    read_again: Tick,
}

impl<W: Work> Worker<W> {
    /// A worker that has read nothing yet. It misses nothing if it gets the hints of all that happens from now
    /// on.
    pub(crate) fn new(work: W, hints: impl Into<Hints<W::Hint>>, clock: Arc<dyn Clock>) -> Self {
        let (queue, horizon) = (Queue::new(work.limits()), clock.now() + work.horizon());
        let read_again = clock.tick() + work.horizon();
        let tasks = JoinSet::new();
        Self { work, hints: hints.into(), clock, queue, tasks, cursor: None, more: true, horizon, read_again }
    }

    /// Works until it is stopped. Returns the work in progress, which ends if that is dropped.
    pub(crate) async fn run(mut self, stop: &CancellationToken) -> JoinSet<Ended<W>> {
        while !stop.is_cancelled() {
            self.queue.promote_due(self.clock.now());
            self.take_hints();
            self.fill(stop).await;
            self.work.measure(self.queue.in_progress(), self.queue.ready());
            let pause = self.pause();
            tokio::select! {
                Some(ended) = self.tasks.join_next() => {
                    self.ended(ended.ok());
                    while let Some(ended) = self.tasks.try_join_next() {
                        self.ended(ended.ok());
                    }
                }
                hint = self.hints.recv() => match hint {
                    Ok(hint) => self.on_hint(&hint),
                    Err(RecvError::Lagged(_)) => self.restart_scan(),
                    Err(RecvError::Closed) => break,
                },
                () = self.clock.sleep(pause) => {
                    if self.horizon <= self.clock.now() || self.read_again <= self.clock.tick() {
                        self.restart_scan();
                    }
                }
                () = stop.cancelled() => {}
            }
        }
        self.tasks
    }

    /// Works on all that is due now, on each key until it is done or due later, and ends at `end` at the
    /// latest.
    pub(crate) async fn drain(mut self, end: Time) {
        loop {
            self.fill(&CancellationToken::new()).await;
            tokio::select! {
                biased;
                ended = self.tasks.join_next() => match ended {
                    Some(ended) => self.ended(ended.ok()),
                    None => return,
                },
                () = self.clock.sleep_until(end) => return,
            }
        }
    }

    /// Reads a page of what is due up to the horizon.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) async fn look(&mut self) -> Result<()> {
        let page = match self.work.page(self.horizon, self.cursor.clone()).await {
            // The row at which the last page ended was removed.
            Err(Error::Store(StoreError::NoRow { .. })) if self.cursor.take().is_some() => return Ok(()),
            page => page?,
        };
        self.more = page.next.is_some();
        self.cursor = page.next;
        let now = self.clock.now();
        for (key, lane, due) in page.due {
            put::<W>(&mut self.queue, &mut self.horizon, now, (key, &lane, due), Trigger::Page);
        }
        Ok(())
    }

    /// Starts what can be started, and reads further pages while that is little: the keys of those before may
    /// all be in progress, due later or in full lanes.
    async fn fill(&mut self, stop: &CancellationToken) {
        self.start();
        while self.more && self.queue.startable() < LOW {
            let looked = tokio::select! {
                biased;
                looked = self.look() => looked,
                () = stop.cancelled() => return,
            };
            if let Err(error) = looked {
                let now = self.clock.now();
                let pause = self.work.unread(&error, now);
                self.look_after(pause);
                // What follows is read with the rest, at the horizon.
                self.more = false;
                return;
            }
            self.start();
        }
    }

    /// Has what is due read from the beginning, with a later horizon.
    fn restart_scan(&mut self) {
        self.look_after(self.work.horizon());
        self.cursor = None;
        self.more = true;
        self.queue.clear_delayed();
    }

    /// How long nothing is due here.
    fn pause(&self) -> Duration {
        let next = self.queue.next_due().map_or(self.horizon, |due| due.min(self.horizon));
        next.since(self.clock.now()).min(self.read_again.since(self.clock.tick()))
    }

    fn look_after(&mut self, pause: Duration) {
        self.horizon = self.clock.now() + pause;
        self.read_again = self.clock.tick() + pause;
    }

    /// Takes note of all hints that have come, before anything is started: a lane that is new must not wait for the
    /// hints of one that is busy.
    fn take_hints(&mut self) {
        loop {
            match self.hints.try_recv() {
                Ok(hint) => self.on_hint(&hint),
                Err(TryRecvError::Lagged(_)) => self.restart_scan(),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    fn on_hint(&mut self, hint: &W::Hint) {
        let Self { work, queue, horizon, clock, .. } = self;
        let now = clock.now();
        let put = |key, lane: &_, due| put::<W>(queue, horizon, now, (key, lane, due), Trigger::Hint);
        work.on_hint(hint, now, put);
    }

    fn start(&mut self) {
        let now = self.clock.now();
        while let Some((key, lane)) = self.queue.next() {
            let work = AssertUnwindSafe(self.work.start(key, &lane, now)).catch_unwind();
            self.tasks.spawn(async move { (key, lane, work.await.map_err(|panic| message(&*panic))) });
        }
    }

    /// Takes note of the end of a task; none of a task that was aborted.
    fn ended(&mut self, ended: Option<Ended<W>>) {
        let Some((key, lane, outcome)) = ended else { return };
        let now = self.clock.now();
        let again = self.queue.done(key, &lane);
        let next = self.work.ended(key, outcome, now);
        let at_once = match next {
            Next::Done => again.is_some(),
            // A page shows the row of the work that failed.
            Next::At(_) => again == Some(Trigger::Hint),
            Next::NotBefore(_) => false,
        };
        if at_once {
            self.queue.put(key, &lane, Trigger::Hint);
        }
        if let Next::At(due) | Next::NotBefore(due) = next {
            put::<W>(&mut self.queue, &mut self.horizon, now, (key, &lane, due), Trigger::Hint);
        }
    }
}

/// Puts a key into the queue, unless it is due after the horizon, when it is read again. If the queue drops
/// another one, that is read again when it is due.
fn put<W: Work>(
    queue: &mut Queue<W::Key, W::Lane>,
    horizon: &mut Time,
    now: Time,
    (key, lane, due): (W::Key, &W::Lane, Time),
    trigger: Trigger,
) {
    if due <= now {
        queue.put(key, lane, trigger);
    } else if due <= *horizon
        && let Some(dropped) = queue.put_delayed(key, lane.clone(), due)
    {
        *horizon = dropped.min(*horizon);
    }
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let said =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("it crashed: {}", said.unwrap_or("no message"))
}

#[cfg(test)]
mod tests;
