//! A tree followed over HTTP: a stream that breaks is taken up again where it ended.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_engine::{AgentDelta, Piece, Signal};
use entourage_types::{AgentId, Event, RunId};
use futures::{StreamExt, stream::BoxStream};
use reqwest::Method;
use serde::Deserialize;

use super::{
    Follow, Remote, Result,
    sse::{Message, Parser},
};
use crate::cli::failure::Failure;

/// How often a broken stream is taken up again before the server counts as gone.
const ATTEMPTS: u32 = 6;
/// The pause before the second attempt; it doubles from there.
const PAUSE: Duration = Duration::from_millis(200);

type Pieces = BoxStream<'static, reqwest::Result<Vec<u8>>>;

/// A tree followed over HTTP.
pub(super) struct Stream {
    remote: Remote,
    root: AgentId,
    /// The number of the last event, or where to begin.
    last: Option<u64>,
    pieces: Pieces,
    parser: Parser,
    ready: VecDeque<Signal>,
}

impl Stream {
    pub(super) async fn open(remote: Remote, root: AgentId, after: Option<u64>) -> Result<Self> {
        let pieces = connect(&remote, root, after).await?;
        Ok(Self { remote, root, last: after, pieces, parser: Parser::default(), ready: VecDeque::new() })
    }

    async fn again(&mut self) -> Result<()> {
        self.parser = Parser::default();
        let mut attempt = 0;
        loop {
            match connect(&self.remote, self.root, self.last).await {
                Ok(pieces) => {
                    self.pieces = pieces;
                    return Ok(());
                }
                Err(failure) if attempt + 1 >= ATTEMPTS || !self.remote.is_server() => return Err(failure),
                Err(_) => tokio::time::sleep(PAUSE * (1 << attempt)).await,
            }
            attempt += 1;
        }
    }

    fn take(&mut self, message: &Message) -> Result<()> {
        let unknown = |error: serde_json::Error| {
            Failure::failed(format!(
                "the server sent an event that is not understood: {error}. Is it of this version?"
            ))
        };
        if message.event == "delta" {
            let delta: Delta = serde_json::from_str(&message.data).map_err(unknown)?;
            self.ready.extend(delta.piece().map(|delta| Signal::Delta(Arc::new(delta))));
            return Ok(());
        }
        if message.event == "caught_up" {
            let CaughtUp { last } = serde_json::from_str(&message.data).map_err(unknown)?;
            self.ready.push_back(Signal::CaughtUp(last));
            return Ok(());
        }
        let event: Event = serde_json::from_str(&message.data).map_err(unknown)?;
        if self.last.is_none_or(|last| event.seq > last) {
            self.last = Some(event.seq);
            self.ready.push_back(Signal::Event(Arc::new(event)));
        }
        Ok(())
    }
}

async fn connect(remote: &Remote, root: AgentId, after: Option<u64>) -> Result<Pieces> {
    let after = after.map(|after| format!("?after={after}")).unwrap_or_default();
    let response = remote.ask(Method::GET, &format!("agents/{root}/events{after}"), None).await?;
    Ok(response.bytes_stream().map(|piece| piece.map(Vec::from)).boxed())
}

#[async_trait]
impl Follow for Stream {
    async fn next(&mut self) -> Result<Signal> {
        loop {
            if let Some(signal) = self.ready.pop_front() {
                return Ok(signal);
            }
            match self.pieces.next().await {
                Some(Ok(piece)) => {
                    for message in self.parser.take(&piece) {
                        self.take(&message)?;
                    }
                }
                // It ended or broke: the server restarts, or a token was renewed.
                Some(Err(_)) | None => self.again().await?,
            }
        }
    }
}

/// That all that was has been told, as it is sent.
#[derive(Deserialize)]
struct CaughtUp {
    last: u64,
}

/// A piece of an answer, as it is sent.
#[derive(Deserialize)]
struct Delta {
    agent: AgentId,
    run: RunId,
    item_seq: u64,
    attempt: u64,
    offset: u64,
    text: Option<String>,
    reasoning: Option<String>,
    call: Option<String>,
    reset: Option<bool>,
}

impl Delta {
    fn piece(self) -> Option<AgentDelta> {
        let Self { agent, run, item_seq, attempt, offset, text, reasoning, call, reset } = self;
        let piece = text
            .map(Piece::Text)
            .or(reasoning.map(Piece::Reasoning))
            .or(call.map(Piece::Call))
            .or(reset.map(|_| Piece::Reset))?;
        Some(AgentDelta { agent, run, item_seq, attempt, offset, piece })
    }
}
