//! The stream of an exploration over a WebSocket, on which a client also answers and intervenes.

use std::time::Duration;

use axum::{
    extract::{
        FromRequestParts, State, WebSocketUpgrade,
        ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code},
    },
    http::request::Parts,
    response::Response,
};
use entourage_engine::{
    Client, Error, StoreError,
    explorer::{Chunk, ExplorerStream, Position},
};
use entourage_types::AgentId;
use futures::SinkExt as _;
use serde::{Deserialize, Serialize};
use tokio_tungstenite::tungstenite;
use tracing::Instrument as _;
use utoipa::IntoParams;

use super::{
    stream::{FollowExploration, LastPosition, PageVisit, chosen},
    upstream::{heard, not_a_text},
};
use crate::{
    Problem,
    auth::StreamGrant,
    extract::{Caller, Filter},
    routes::api_router::{ApiRouter, routes},
    routes::{
        failures::{Conflict, Failures, Gone},
        sse::{Ending, ended},
    },
    state::AppState,
    streams::Opened,
};

/// The longest message of a client, in bytes: an answer, or what an agent is to work on, fits.
const LONGEST: usize = 1 << 20;
/// How many bytes are read at once: clients say little.
const READ: usize = 8 << 10;
/// How long a client has to take its leave.
const LEAVE: Duration = Duration::from_secs(2);

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(open))
}

/// Which agent is started or followed, and from where on.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OpenExploration {
    /// What to explore; needed to start an agent.
    prompt: Option<String>,
    /// The id of the agent. If one of this id is active, it is followed from its beginning, and none is started.
    agent_id: Option<String>,
    /// The id of the active agent below which it is put.
    parent_id: Option<String>,
    /// A token from `POST /agent/stream-token`, in place of the header that browsers cannot send.
    token: Option<String>,
    /// The `eventId` of the last chunk that was received: its agent is gone on with from there. A client that sends
    /// headers may send it as `Last-Event-ID`.
    last_event_id: Option<String>,
}

/// Start an agent that explores, or follow one: chunks over a WebSocket
///
/// As `GET /agent/stream`: each text message of the server is a chunk as JSON, with its id as `eventId`, and the server
/// closes with 1000 after `finish`, or at once if the client has had everything. It closes with 1001 when it stops, with
/// 1008 once the caller's token has expired, with 1009 after a message of more than 1 MiB, and with 1011 when it fails:
/// go on with `lastEventId`.
///
/// The client may send JSON objects as text messages, about the followed agent and all below it:
/// `{"type": "user-answer", "queryId", "response"}` answers the question of a `user-query`, or declines it with null;
/// `{"type": "intervene", "agentId", "userComment", "userContent", "status"}` is `POST /agent/{id}/intervene`. Each gets
/// `{"type": "reply", "success", "error", "to"}`, where `to` is the `id` of the message if it had one, a text or a number.
#[utoipa::path(
    get, path = "/agent/ws", tag = "explorations", operation_id = "openExploration",
    params(
        OpenExploration,
        ("Last-Event-ID" = Option<String>, Header, description = "As `lastEventId`, which has precedence."),
    ),
    responses(
        (status = 101, description = "The connection is a WebSocket from here on."),
        Failures,
        Conflict,
        Gone,
    )
)]
async fn open(
    caller: Caller,
    grant: Option<StreamGrant>,
    Handshake(handshake): Handshake,
    Filter(query): Filter<OpenExploration>,
    LastPosition(last): LastPosition,
    State(served): State<AppState>,
) -> Result<Response, Problem> {
    let OpenExploration { prompt, agent_id, parent_id, token, last_event_id } = query;
    let last = match last_event_id.filter(|id| !id.is_empty()) {
        Some(id) => Some(id.parse().map_err(|error: Error| Problem::bad_query(error.to_string()))?),
        None => last,
    };
    // Before an agent is started that nobody could follow.
    let (client, opened) = served.streams.open(&caller.client)?;
    let query = FollowExploration { prompt, agent_id, parent_id, token };
    // No link opens a WebSocket.
    let agent = chosen(&client, grant, query, last.as_ref(), PageVisit::No).await?;
    let chunks = client.follow_explorer(agent, last).await?;
    let heartbeat = served.heartbeat;
    let ended = ended(caller.until, served);
    let opens = move |socket| {
        let session = Session { socket, chunks, client: caller.client, agent, heartbeat, _opened: opened };
        session.run(ended).in_current_span()
    };
    Ok(handshake.read_buffer_size(READ).max_frame_size(LONGEST).max_message_size(LONGEST).on_upgrade(opens))
}

/// The beginning of a WebSocket.
struct Handshake(WebSocketUpgrade);

impl<S: Send + Sync> FromRequestParts<S> for Handshake {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let handshake = WebSocketUpgrade::from_request_parts(parts, state).await;
        handshake
            .map(Self)
            .map_err(|rejection| Problem::bad_header(format!("open a WebSocket here: {rejection}")))
    }
}

/// A chunk as it is sent.
#[derive(Serialize)]
struct Sent<'a> {
    #[serde(flatten)]
    chunk: &'a Chunk,
    #[serde(rename = "eventId")]
    event_id: String,
}

/// An open WebSocket. It holds one chunk at a time: what its client has not read waits where it is.
struct Session {
    socket: WebSocket,
    chunks: ExplorerStream,
    client: Client,
    /// The followed agent.
    agent: AgentId,
    heartbeat: Duration,
    _opened: Opened,
}

/// How a session ends.
enum Goodbye {
    /// The client has taken its leave.
    Theirs,
    /// The connection is lost.
    Lost,
    /// The server says why.
    Ours(CloseFrame),
    /// What the client sends cannot be read any further.
    Unreadable(CloseFrame),
}

impl Session {
    /// Talks with the client until there is no more, or until `ended`.
    async fn run(mut self, ended: impl Future<Output = Ending> + Send) {
        let goodbye = tokio::select! {
            goodbye = self.talk() => goodbye,
            ending = ended => Goodbye::Ours(match ending {
                Ending::Stopping => close(close_code::AWAY, "the server stops; go on with lastEventId"),
                Ending::Expired => close(close_code::POLICY, "the token has expired; go on with another one"),
            }),
        };
        // A client that does not answer, or reads nothing, is not waited for any longer.
        let _ = tokio::time::timeout(LEAVE, self.leave(goodbye)).await;
    }

    async fn talk(&mut self) -> Goodbye {
        loop {
            let sent = tokio::select! {
                said = self.socket.recv() => match said {
                    Some(Ok(Message::Text(text))) => self.answer(&text).await,
                    Some(Ok(Message::Binary(_))) => self.send(&not_a_text()).await,
                    // The library has queued the answer. Nothing more is read before it is sent: a client that reads
                    // nothing would fill the memory with answers.
                    Some(Ok(Message::Ping(_))) => self.socket.flush().await,
                    Some(Ok(Message::Pong(_))) => Ok(()),
                    Some(Ok(Message::Close(_))) => return Goodbye::Theirs,
                    Some(Err(error)) => return unreadable(error),
                    None => return Goodbye::Lost,
                },
                next = self.chunks.next() => match next {
                    Ok(Some((position, chunk))) => self.chunk(&position, &chunk).await,
                    Ok(None) => return Goodbye::Ours(close(close_code::NORMAL, "")),
                    Err(Error::Store(StoreError::Closed)) => {
                        return Goodbye::Ours(close(close_code::AWAY, "the server stops; go on with lastEventId"));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a stream of chunks ends");
                        return Goodbye::Ours(close(close_code::ERROR, "the stream failed; go on with lastEventId"));
                    }
                },
                () = tokio::time::sleep(self.heartbeat) => {
                    self.socket.send(Message::Ping(Vec::new().into())).await
                }
            };
            if sent.is_err() {
                return Goodbye::Lost;
            }
        }
    }

    async fn answer(&mut self, text: &str) -> Result<(), axum::Error> {
        let reply = heard(&self.client, self.agent, text).await;
        self.send(&reply).await
    }

    async fn chunk(&mut self, position: &Position, chunk: &Chunk) -> Result<(), axum::Error> {
        self.send(&Sent { chunk, event_id: position.to_string() }).await
    }

    async fn send(&mut self, message: &impl Serialize) -> Result<(), axum::Error> {
        let text = serde_json::to_string(message).map_err(axum::Error::new)?;
        self.socket.send(Message::Text(text.into())).await
    }

    async fn leave(&mut self, goodbye: Goodbye) {
        match goodbye {
            Goodbye::Lost => {}
            // The library answers it.
            Goodbye::Theirs => while let Some(Ok(_)) = self.socket.recv().await {},
            Goodbye::Ours(why) => {
                if self.socket.send(Message::Close(Some(why))).await.is_ok() {
                    while let Some(Ok(_)) = self.socket.recv().await {}
                }
            }
            Goodbye::Unreadable(why) => {
                if self.socket.send(Message::Close(Some(why))).await.is_ok() {
                    // If it were closed before the client has read the reason, what the client is still sending would
                    // destroy that.
                    std::future::pending().await
                }
            }
        }
    }
}

fn close(code: u16, why: &'static str) -> CloseFrame {
    CloseFrame { code, reason: Utf8Bytes::from_static(why) }
}

/// How a session ends whose client sends what cannot be read.
fn unreadable(error: axum::Error) -> Goodbye {
    use tungstenite::error::{CapacityError, ProtocolError};
    match error.into_inner().downcast_ref() {
        Some(tungstenite::Error::Capacity(CapacityError::MessageTooLong { .. })) => {
            Goodbye::Unreadable(close(close_code::SIZE, "a message has at most 1 MiB"))
        }
        Some(tungstenite::Error::Utf8(_)) => {
            Goodbye::Unreadable(close(close_code::INVALID, "a text message is not UTF-8"))
        }
        Some(tungstenite::Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => Goodbye::Lost,
        Some(tungstenite::Error::Protocol(_)) => {
            Goodbye::Unreadable(close(close_code::PROTOCOL, "that is no WebSocket"))
        }
        _ => Goodbye::Lost,
    }
}
