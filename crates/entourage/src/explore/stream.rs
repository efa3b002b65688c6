//! The stream of an agent, which returns the final result at its end.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use entourage_types::AgentId;
use futures::{Stream, StreamExt, stream::BoxStream};

use super::Chunk;
use crate::{Error, Result, embedded::AtWork};

/// The stream of an agent and of all agents below it: all that has happened, then what happens, until the agent has
/// nothing more to do (S3-R071).
///
/// It changes nothing: the agent works on when it is dropped, and [`Explorer::follow`](super::Explorer::follow) gives
/// another one. While it is held, its explorer stays open unless that is closed.
#[must_use = "it returns nothing until it is polled"]
pub struct AgentStream {
    name: String,
    chunks: BoxStream<'static, Result<Chunk>>,
    end: Option<End>,
    _home: Arc<AtWork>,
}

/// How the agent ended.
#[derive(Debug, Clone)]
enum End {
    Result(String),
    Failed(String),
    Deleted,
}

impl AgentStream {
    /// Follows an agent from its beginning.
    pub(super) async fn follow(home: Arc<AtWork>, agent: AgentId) -> Result<Self> {
        let name = home.client.agent_name(agent).await?;
        let stream = home.client.follow_explorer(agent, None).await?;
        let closing = home.stop.clone();
        let chunks = futures::stream::unfold(Some((stream, closing)), |state| async {
            let (mut stream, closing) = state?;
            tokio::select! {
                biased;
                chunk = stream.next() => match chunk {
                    Ok(chunk) => Some((Ok(chunk?.1), Some((stream, closing)))),
                    // The database was closed under it.
                    Err(_) if closing.is_cancelled() => Some((Err(Error::Closed), None)),
                    Err(error) => Some((Err(error.into()), Some((stream, closing)))),
                },
                () = closing.cancelled() => Some((Err(Error::Closed), None)),
            }
        });
        Ok(Self { name, chunks: chunks.boxed(), end: None, _home: home })
    }

    /// The id by which the agent is known: the one that its caller gave it, or its own.
    #[must_use]
    pub fn agent_id(&self) -> &str {
        &self.name
    }

    /// The next chunk; none after the last. The future may be dropped before it is ready: no chunk is lost.
    ///
    /// # Errors
    /// In the item: [`Error::Closed`] when the explorer is closed first; an error when the engine fails. A failed agent
    /// is no error here: its stream has a [`Chunk::Error`].
    pub async fn next(&mut self) -> Option<Result<Chunk>> {
        StreamExt::next(self).await
    }

    /// The final result (S3-R080), at once after the last chunk; before that, it waits and skips the chunks until then.
    ///
    /// # Errors
    /// [`Error::Exploration`] if the agent failed; [`Error::Deleted`] if it was deleted; [`Error::Closed`] when the
    /// explorer is closed first.
    pub async fn result(mut self) -> Result<String> {
        while let Some(chunk) = self.next().await {
            chunk?;
        }
        let agent = self.name.clone();
        match self.end.take() {
            Some(End::Result(text)) => Ok(text),
            Some(End::Failed(error)) => Err(Error::Exploration { agent, error }),
            Some(End::Deleted) => Err(Error::Deleted { agent }),
            None => Err(Error::Closed),
        }
    }

    /// Remembers how the agent ended.
    fn note(&mut self, chunk: &Chunk) {
        match chunk {
            Chunk::Result { result, .. } => self.end = Some(result.clone().map_or(End::Deleted, End::Result)),
            Chunk::Error { error, .. } => self.end = Some(End::Failed(error.clone())),
            _ => {}
        }
    }
}

impl Stream for AgentStream {
    type Item = Result<Chunk>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.chunks.poll_next_unpin(context);
        if let Poll::Ready(Some(Ok(chunk))) = &next {
            self.note(chunk);
        }
        next
    }
}

impl std::fmt::Debug for AgentStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentStream").field("agent_id", &self.name).finish_non_exhaustive()
    }
}
