//! Starts an exploration and follows its chunks over HTTP: a broken stream resumes where it ended.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use entourage_types::{AgentId, Backoff};
use futures::{StreamExt, stream::BoxStream};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Backend, Result, sse::Parser, target::Target};
use crate::cli::failure::Failure;

/// Where explorations are started and followed.
const STREAM: &str = "/agent/stream";
/// How many times in a row a broken stream is reopened before the server counts as gone.
const ATTEMPTS: u32 = 6;
/// Between attempts, from the second on.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(13));

type Pieces = BoxStream<'static, reqwest::Result<Vec<u8>>>;

/// The chunks of an agent's stream, from its beginning.
pub(crate) struct Chunks {
    backend: Backend,
    /// The id of the last event that arrived.
    last: String,
    pieces: Option<Pieces>,
    parser: Parser,
    ready: VecDeque<Value>,
    /// The questions of which the chunks were returned.
    asked: HashSet<String>,
    /// Attempts at a new connection since the last piece arrived.
    attempts: u32,
}

impl Backend {
    /// Starts an exploration, and returns its agent.
    pub(crate) async fn explore(
        &self,
        question: &str,
        name: Option<&str>,
        parent: Option<AgentId>,
    ) -> Result<AgentId> {
        // A command that works on one tree begins no other.
        if let Target::There(running) = &self.place
            && !running.is_server()
        {
            return Err(running.busy());
        }
        let body = json!({ "prompt": question, "agentId": name, "parentId": parent });
        let started = self.stream(Method::POST, STREAM, |request| request.json(&body)).await;
        let started = started.map_err(|failure| failure.look_first("entourage agents"))?;
        // Only the ids of events have the agent's own id; the stream is followed by another request.
        let (mut pieces, mut parser) = (started.bytes_stream(), Parser::default());
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| self.place.unanswered(&error))?;
            if let Some(first) = parser.take(&piece).first()
                && let Some(id) = first.id.split('-').next().and_then(|id| id.parse().ok())
            {
                return Ok(id);
            }
        }
        Err(self.place.lost("it does not say which agent it started").look_first("entourage agents"))
    }

    /// Follows the chunks of an agent, active or not, from its beginning.
    pub(crate) fn chunks(&self, agent: AgentId) -> Chunks {
        Chunks {
            backend: self.clone(),
            // The position before the first event: also of an agent that has ended, which its name does not lead to.
            last: format!("{agent}-0"),
            pieces: None,
            parser: Parser::default(),
            ready: VecDeque::new(),
            asked: HashSet::new(),
            attempts: 0,
        }
    }
}

impl Chunks {
    /// The next chunk; none after the last. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                if chunk["type"] == "user-query" {
                    self.asked.extend(chunk["queryId"].as_str().map(str::to_owned));
                }
                return Ok(Some(chunk));
            }
            let Some(pieces) = &mut self.pieces else {
                if !self.connect().await? {
                    return Ok(None);
                }
                continue;
            };
            match pieces.next().await {
                Some(Ok(piece)) => {
                    self.attempts = 0;
                    for message in self.parser.take(&piece) {
                        let unknown = |error| {
                            Failure::failed(format!(
                                "the server sent an unknown chunk: {error}. Is it the same version as this program?"
                            ))
                        };
                        self.ready.push_back(serde_json::from_str(&message.data).map_err(unknown)?);
                        self.last = message.id;
                    }
                }
                // It is over, or broke: the answer to the next request says which.
                Some(Err(_)) | None => self.pieces = None,
            }
        }
    }

    /// Whether the chunk of this question was returned.
    pub(crate) fn has_shown(&self, question: &str) -> bool {
        self.asked.contains(question)
    }

    /// Connects again after the last event. False if there is nothing after it.
    async fn connect(&mut self) -> Result<bool> {
        if self.attempts > 1 {
            tokio::time::sleep(PAUSES.after(self.attempts - 1)).await;
        }
        self.attempts += 1;
        let last = self.last.clone();
        let answer =
            self.backend.stream(Method::GET, STREAM, |request| request.header("last-event-id", last));
        match answer.await {
            Ok(answer) if answer.status() == StatusCode::NO_CONTENT => Ok(false),
            Ok(answer) => {
                self.parser = Parser::default();
                self.pieces = Some(answer.bytes_stream().map(|piece| piece.map(Vec::from)).boxed());
                Ok(true)
            }
            Err(failure) if self.attempts >= ATTEMPTS || !self.backend.place.is_server() => Err(failure),
            Err(failure) if failure.who_is_gone().is_none() => Err(failure),
            Err(_) => Ok(true),
        }
    }
}
