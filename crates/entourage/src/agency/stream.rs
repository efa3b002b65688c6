//! What happens on the way to an answer, as it happens.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use entourage_engine::{
    Spoken,
    responses::{Follow, StreamEvent},
};
use futures::{Stream, StreamExt, stream::BoxStream};

use super::{RunResult, home::Home};
use crate::{Error, Result};

/// A stream of what happens on the way to an answer. The items of agents that work for it stand
/// between the call and its output; those of agents that work side by side are interleaved, each with
/// its [`Origin`].
///
/// Dropped before its end, it stops what it set off, unless it is [detached](RunStream::detached).
#[must_use = "nothing is told until it is polled"]
pub struct RunStream {
    events: BoxStream<'static, Result<StreamEvent>>,
    stops: Stops,
}

/// Stops what was set off, when dropped.
struct Stops {
    home: Arc<Home>,
    spoken: Spoken,
    is_armed: bool,
}

impl RunStream {
    pub(super) fn new(home: Arc<Home>, follow: Follow) -> Self {
        let spoken = follow.spoken();
        let events = futures::stream::unfold(follow, |mut follow| async {
            let event = follow.next().await?;
            Some((event.map_err(Error::from), follow))
        });
        Self { events: events.boxed(), stops: Stops { home, spoken, is_armed: true } }
    }

    /// The same stream; what it set off goes on when it is dropped.
    pub fn detached(mut self) -> Self {
        self.stops.is_armed = false;
        self
    }

    /// Waits for what came of it, and tells nothing else.
    ///
    /// # Errors
    /// When the house fails. A run that fails is a result with an error.
    pub async fn result(mut self) -> Result<RunResult> {
        while let Some(event) = self.next().await {
            if let StreamEvent::Done(result) | StreamEvent::Error(result) = event? {
                return Ok(*result);
            }
        }
        Err(Error::Agency("the stream ended before its result; it was read to its end before".into()))
    }
}

impl Stream for RunStream {
    type Item = Result<StreamEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = self.events.poll_next_unpin(context);
        if let Poll::Ready(Some(Ok(StreamEvent::Done(_) | StreamEvent::Error(_))) | None) = &event {
            self.stops.is_armed = false;
        }
        event
    }
}

impl Drop for Stops {
    fn drop(&mut self) {
        // What is cut off because all of it ends goes on with the next start.
        if !self.is_armed || self.home.is_closing() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (client, Spoken { agent, post, .. }) = (self.home.client.clone(), self.spoken);
        runtime.spawn(async move {
            if let Err(error) = client.withdraw(agent, post).await {
                tracing::warn!(%error, "what nobody waits for any more goes on");
            }
        });
    }
}
