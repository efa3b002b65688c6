//! What happens on the way to an answer, as it happens.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use entourage_engine::Spoken;
use entourage_types::Question;
use futures::{Stream, StreamExt, stream::BoxStream};

use super::{Origin, RunItem, RunResult, follow::Follow, home::Home};
use crate::{Error, Result};

/// Something that happened on the way to an answer.
#[derive(Debug, Clone)]
pub enum StreamEvent {
    /// An item joined a thread: of the agent that was asked, or of one that works for it.
    Item(RunItem),
    /// A piece of an answer under way; it arrives whole as an item.
    Text {
        /// Whose.
        origin: Origin,
        /// The piece.
        text: String,
    },
    /// The pieces since the last item of this thread are void: the model is asked again.
    Void {
        /// Whose.
        origin: Origin,
    },
    /// Somebody must answer before it goes on: see [`Agency::client`](super::Agency::client).
    Question(Box<Question>),
    /// The answer is there. Nothing follows.
    Done(Box<RunResult>),
    /// There is none, and [`RunResult::error`] says why. Nothing follows.
    Error(Box<RunResult>),
}

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
    pub(super) fn new(home: Arc<Home>, follow: Follow, spoken: Spoken) -> Self {
        let events = futures::stream::unfold(follow, |mut follow| async {
            let event = follow.next().await?;
            Some((event, follow))
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
