//! One worker over rows that are due: it holds the keys of rows with the time at which each is due, reads them
//! again from the store from time to time and on hints, works on those that are due within limits, and comes
//! back to a key when its work says so. All that it holds can be read again; what differs is a [`Work`].

mod hints;
mod queue;
mod rows;
mod worker;

use std::{hash::Hash, time::Duration};

use entourage_types::Time;

use crate::{Error, Result};

pub(crate) use hints::Hints;
pub(crate) use rows::rows;
pub(crate) use worker::Worker;

/// Rows per page.
pub(crate) const PAGE: u32 = 500;

/// What a worker works on, and how.
pub(crate) trait Work: Send + Sync {
    /// What names one piece of work. A key is in progress once at a time.
    type Key: Copy + Ord + Hash + Send + Sync + 'static;
    /// What keys share a limit by. Lanes take turns.
    type Lane: Clone + Eq + Hash + Send + Sync + 'static;
    /// Where a page ended.
    type Cursor: Clone + Send + Sync;
    /// What arrives when there is something new to do.
    type Hint: Clone + Send;
    /// What a piece of work returns.
    type Outcome: Send + 'static;

    /// How far ahead keys are held in memory, and how often the store is read without a hint.
    fn horizon(&self) -> Duration;

    /// How many keys may be in progress at once.
    fn limits(&self) -> Limits;

    /// Reads the page after `after` of what is due at `until` or before; what is due later is ignored.
    fn page(
        &self,
        until: Time,
        after: Option<Self::Cursor>,
    ) -> impl Future<Output = Result<Page<Self>>> + Send;

    /// Notes that the store could not be read. Returns after how long it is read again.
    fn unread(&mut self, error: &Error, now: Time) -> Duration;

    /// Calls `put` with what a hint says is due.
    fn on_hint(&self, hint: &Self::Hint, now: Time, put: impl FnMut(Self::Key, &Self::Lane, Time));

    /// The work on a key of this lane.
    fn start(
        &self,
        key: Self::Key,
        lane: &Self::Lane,
        now: Time,
    ) -> impl Future<Output = Self::Outcome> + Send + 'static;

    /// Takes note of the end of the work on a key: what it returned, or with which message it panicked.
    fn ended(&mut self, key: Self::Key, outcome: Result<Self::Outcome, String>, now: Time) -> Next;

    /// Takes note of how many keys are in progress and ready, before the worker waits.
    fn measure(&self, _in_progress: usize, _ready: usize) {}
}

/// How many keys may be in progress at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) in_all: usize,
    pub(crate) per_lane: usize,
}

/// A page of what is due.
pub(crate) struct Page<W: Work + ?Sized> {
    pub(crate) due: Vec<(W::Key, W::Lane, Time)>,
    /// Where to read on; none after the last page.
    pub(crate) next: Option<W::Cursor>,
}

/// When a key is due again after its work has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// At once if it was put again meanwhile, otherwise not.
    Done,
    /// Then, and at once if a hint put it again meanwhile; a page shows its row in any case.
    At(Time),
    /// Then, whatever was put meanwhile.
    NotBefore(Time),
}
