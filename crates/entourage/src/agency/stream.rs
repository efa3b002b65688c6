//! A stream of what happens on the way to an answer.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use entourage_engine::responses::{Follow, StreamEvent};
use futures::{Stream, StreamExt, stream::BoxStream};
use tokio_util::sync::CancellationToken;

use super::RunResult;
use crate::{Error, Result, embedded::AtWork};

/// A stream of what happens on the way to an answer. The items of agents that work on a call come between the
/// call and its output; those of agents that work side by side are interleaved, each with its
/// [`Origin`](super::Origin).
///
/// Dropping it before its end stops the run, unless it is [detached](RunStream::detached).
#[must_use = "it returns nothing until it is polled"]
pub struct RunStream {
    events: BoxStream<'static, Result<StreamEvent>>,
    stays: CancellationToken,
    /// Keeps the agency working for as long as a caller waits for the answer.
    _home: Arc<AtWork>,
}

impl RunStream {
    /// Once `stays` is cancelled, dropping the stream stops no run.
    pub(super) fn new(home: Arc<AtWork>, follow: Follow, stays: CancellationToken) -> Self {
        let closing = home.stop.clone();
        let events = futures::stream::unfold(Some((follow, closing)), |state| async {
            let (mut follow, closing) = state?;
            tokio::select! {
                biased;
                event = follow.next() => {
                    let event = event?.map_err(Error::from);
                    Some((event, Some((follow, closing))))
                }
                () = closing.cancelled() => Some((Err(Error::Closed), None)),
            }
        });
        Self { events: events.boxed(), stays, _home: home }
    }

    /// Returns the same stream; dropping it no longer stops the run.
    pub fn detached(self) -> Self {
        self.stays.cancel();
        self
    }

    /// The next event; none after the last. The future may be dropped before it is ready: no event is lost.
    pub async fn next(&mut self) -> Option<Result<StreamEvent>> {
        self.events.next().await
    }

    /// Waits for the result and skips all other events.
    ///
    /// # Errors
    /// [`Error::Closed`] when the agency is closed first; an error when the engine fails. A failed run is a
    /// result with an error.
    pub async fn result(mut self) -> Result<RunResult> {
        while let Some(event) = self.next().await {
            if let StreamEvent::Done(result) | StreamEvent::Error(result) = event? {
                return Ok(*result);
            }
        }
        Err(Error::Agency("the stream ended before its result; it was read to its end before".into()))
    }
}

impl std::fmt::Debug for RunStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunStream").finish_non_exhaustive()
    }
}

impl Stream for RunStream {
    type Item = Result<StreamEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_next_unpin(context)
    }
}
