//! What happens on the way to an answer, as it happens.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use entourage_engine::responses::{Follow, StreamEvent};
use futures::{Stream, StreamExt, stream::BoxStream};
use tokio_util::sync::CancellationToken;

use super::{RunResult, home::Home};
use crate::{Error, Result};

/// A stream of what happens on the way to an answer. The items of agents that work for it stand
/// between the call and its output; those of agents that work side by side are interleaved, each with
/// its [`Origin`](super::Origin).
///
/// Dropped before its end, it stops what it set off, unless it is [detached](RunStream::detached).
#[must_use = "nothing is told until it is polled"]
pub struct RunStream {
    events: BoxStream<'static, Result<StreamEvent>>,
    stays: CancellationToken,
    /// The work goes on for as long as somebody waits for it.
    _home: Arc<Home>,
}

impl RunStream {
    /// What `stays` is cancelled for goes on though the stream is dropped.
    pub(super) fn new(home: Arc<Home>, follow: Follow, stays: CancellationToken) -> Self {
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

    /// The same stream; what it set off goes on when it is dropped.
    pub fn detached(self) -> Self {
        self.stays.cancel();
        self
    }

    /// What happens next; none once it is over. The future may be dropped before it is ready: nothing is
    /// lost.
    pub async fn next(&mut self) -> Option<Result<StreamEvent>> {
        self.events.next().await
    }

    /// Waits for what came of it, and tells nothing else.
    ///
    /// # Errors
    /// [`Error::Closed`] when the agency is closed first; when the engine fails. A run that fails is a
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
