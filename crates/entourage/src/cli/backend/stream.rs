//! Follows a tree over HTTP: a broken stream resumes where it ended.

use std::{collections::VecDeque, time::Duration};

use entourage_api::{Begin, Delta, Event};
use entourage_types::{AgentId, Backoff};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::BoxStream};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout, timeout_at},
};

use super::{
    Backend, Result,
    sse::{Message, Parser},
    target::Target,
};
use crate::cli::failure::Failure;

/// How many times in a row a broken stream is reopened before the server counts as gone.
const ATTEMPTS: u32 = 6;
/// Between attempts, from the second on.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(13));

type Pieces = BoxStream<'static, reqwest::Result<Vec<u8>>>;

/// What a stream brings.
pub(crate) enum Signal {
    Event(Box<Event>),
    /// All events so far have come.
    CaughtUp,
    /// A piece of an answer under way.
    Delta(Delta),
}

/// Follows what happens in a tree as it happens.
pub(crate) struct Stream {
    backend: Backend,
    root: AgentId,
    /// The number of the last event, or where to begin.
    last: Option<u64>,
    connection: Connection,
    /// Attempts at a new connection since the last piece arrived, or since one of them was not answered.
    attempts: u32,
    /// When the last piece arrived.
    heard: Instant,
    /// When the next one must arrive: a server sends heartbeats while nothing happens.
    due: Instant,
    /// Whether a silence was reported that lasts.
    is_silent: bool,
    parser: Parser,
    ready: VecDeque<Signal>,
    /// Receives the reason why agents of this process cannot work any more; none if they are in another one.
    broken: Option<watch::Receiver<Option<String>>>,
}

/// The source of the pieces. An attempt and the pause before it are kept, so that a caller that stops waiting
/// and asks again continues them.
enum Connection {
    Open(Pieces),
    /// Waits until then before the next attempt.
    Pausing(Instant),
    Opening(BoxFuture<'static, Result<Pieces>>),
}

impl Stream {
    pub(super) async fn open(backend: Backend, root: AgentId, after: Option<u64>) -> Result<Self> {
        let limit = backend.place.longest_silence();
        let pieces = timeout(limit, connect(&backend, root, after)).await;
        let pieces = pieces.unwrap_or_else(|_| Err(backend.place.lost("it does not answer")))?;
        let broken = match &backend.place {
            Target::LocalEngine(here) => Some(here.broken()),
            Target::There(_) => None,
        };
        let heard = Instant::now();
        Ok(Self {
            backend,
            root,
            last: after,
            connection: Connection::Open(pieces),
            attempts: 0,
            heard,
            due: heard + limit,
            is_silent: false,
            parser: Parser::default(),
            ready: VecDeque::new(),
            broken,
        })
    }

    /// Handles a silence in which not even a heartbeat arrived: the server is stopped, or the connection is
    /// dead. Connects again, for as long as it takes; a server that refuses connections counts as gone after
    /// some attempts.
    fn tell_of_silence(&mut self) {
        self.backend.place.tell_of_silence(self.heard.elapsed(), "asking again, nothing is lost");
        self.is_silent = true;
        self.due = Instant::now() + self.backend.place.longest_silence();
        if !matches!(self.connection, Connection::Pausing(_)) {
            self.attempts = 0;
            self.again();
        }
    }

    /// Handles the arrival of a piece.
    fn hears(&mut self) {
        self.attempts = 0;
        self.heard = Instant::now();
        self.due = self.heard + self.backend.place.longest_silence();
        if std::mem::take(&mut self.is_silent) {
            self.backend.place.tell_of_answer();
        }
    }

    /// Schedules another attempt at a connection; the first one at once.
    fn again(&mut self) {
        let pause = if self.attempts == 0 { Duration::ZERO } else { PAUSES.after(self.attempts) };
        self.attempts += 1;
        self.connection = Connection::Pausing(Instant::now() + pause);
    }

    /// Waits for the next piece or the next connection; dropping the future loses nothing.
    async fn come(&mut self) -> Result<()> {
        match &mut self.connection {
            Connection::Open(pieces) => match pieces.next().await {
                Some(Ok(piece)) => {
                    self.hears();
                    for message in self.parser.take(&piece) {
                        self.take(&message)?;
                    }
                }
                // It ended or broke: the server restarts, or a token was renewed.
                Some(Err(_)) | None if self.attempts < ATTEMPTS => self.again(),
                Some(Err(_)) | None => {
                    let why = "it closes each stream before it sends anything";
                    return Err(self.backend.place.lost(why));
                }
            },
            Connection::Pausing(until) => {
                sleep_until(*until).await;
                let (backend, root, last) = (self.backend.clone(), self.root, self.last);
                let attempt = async move { connect(&backend, root, last).await };
                self.connection = Connection::Opening(attempt.boxed());
            }
            Connection::Opening(attempt) => match attempt.await {
                Ok(pieces) => {
                    self.connection = Connection::Open(pieces);
                    self.parser = Parser::default();
                }
                Err(failure) => {
                    let is_gone = self.attempts >= ATTEMPTS || !self.backend.place.is_server();
                    // A caller that asks again tries once more.
                    self.again();
                    if is_gone {
                        return Err(failure);
                    }
                }
            },
        }
        Ok(())
    }

    fn take(&mut self, message: &Message) -> Result<()> {
        let unknown = |error: serde_json::Error| {
            Failure::failed(format!(
                "the server sent an unknown event: {error}. Is it the same version as this program?"
            ))
        };
        if message.event == "delta" {
            let delta = serde_json::from_str(&message.data).map_err(unknown)?;
            self.ready.push_back(Signal::Delta(delta));
            return Ok(());
        }
        if message.event == "caught_up" {
            self.ready.push_back(Signal::CaughtUp);
            return Ok(());
        }
        let event: Event = serde_json::from_str(&message.data).map_err(unknown)?;
        if self.last.is_none_or(|last| event.seq > last) {
            self.last = Some(event.seq);
            self.ready.push_back(Signal::Event(Box::new(event)));
        }
        Ok(())
    }
}

async fn connect(backend: &Backend, root: AgentId, after: Option<u64>) -> Result<Pieces> {
    let response =
        backend.begin(&format!("agents/{root}/events"), &Begin { after, ..Begin::default() }).await?;
    Ok(response.bytes_stream().map(|piece| piece.map(Vec::from)).boxed())
}

impl Stream {
    /// The next signal; dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Signal> {
        loop {
            if let Some(signal) = self.ready.pop_front() {
                return Ok(signal);
            }
            let mut broken = self.broken.clone();
            tokio::select! {
                came = timeout_at(self.due, self.come()) => match came {
                    Ok(came) => came?,
                    Err(_) => self.tell_of_silence(),
                },
                why = reason(&mut broken) => {
                    return Err(Failure::failed(format!("the agents cannot work: {why}")));
                }
            }
        }
    }
}

/// Waits for the reason why agents of this process cannot work any more.
async fn reason(broken: &mut Option<watch::Receiver<Option<String>>>) -> String {
    if let Some(broken) = broken
        && let Ok(why) = broken.wait_for(Option::is_some).await
    {
        return why.clone().unwrap_or_default();
    }
    std::future::pending().await
}
