//! The stream of an exploration: starts an agent, or follows one, and sends its chunks as server-sent events.

use axum::{
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use entourage_engine::{
    Client, EarlierMessage, Error, ExplorationInput, NewExploration, Speaker,
    explorer::{Chunk, ExplorerStream, Position},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    Problem,
    auth::StreamGrant,
    extract::{Body, Caller, Filter, IdempotencyKey},
    routes::{
        failures::{Conflict, Failures, Gone},
        sse::{EventSource, ended, message, streamed},
    },
    state::AppState,
    streams::Opened,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(follow, begin))
}

/// Which agent is started or followed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FollowExploration {
    /// What to explore; needed to start an agent.
    pub(super) prompt: Option<String>,
    /// The id of the agent. If one of this id is active, it is followed from its beginning, and none is started.
    pub(super) agent_id: Option<String>,
    /// The id of the active agent below which it is put.
    pub(super) parent_id: Option<String>,
    /// A token from `POST /agent/stream-token`, in place of the header that `EventSource` cannot send.
    #[expect(dead_code, reason = "read before the request comes here, to authenticate it")]
    pub(super) token: Option<String>,
}

/// The `Last-Event-ID` of a client that reconnects: a position in the stream of an agent.
pub(super) struct LastPosition(pub(super) Option<Position>);

impl<S: Send + Sync> FromRequestParts<S> for LastPosition {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(header) = parts.headers.get("last-event-id") else { return Ok(Self(None)) };
        let text = header.to_str().unwrap_or_default().trim();
        // A browser that has seen no id yet may send an empty one.
        if text.is_empty() {
            return Ok(Self(None));
        }
        text.parse().map(|position| Self(Some(position))).map_err(|error: entourage_engine::Error| {
            Problem::bad_header(format!("`Last-Event-ID`: {error}"))
        })
    }
}

/// Start an agent that explores, or follow one: chunks as server-sent events
///
/// Each event has a chunk as its `data`: a part of the AI SDK's `fullStream` (version 4), or one of this API:
/// `agent-state`, `user-query`, `user-answer`, `result`. Each names its `agentId`: the agent, or one below it. The stream
/// ends with `finish`. A client that reconnects with `Last-Event-ID`, or with the `agentId` of an active agent, goes on
/// with that agent; once it has had everything, the answer is 204, and a browser stops reconnecting.
#[utoipa::path(
    get, path = "/agent/stream", tag = "explorations", operation_id = "followExploration",
    params(
        FollowExploration,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was received."),
    ),
    responses(
        (status = 200, description = "The stream.", body = String, content_type = "text/event-stream"),
        (status = 204, description = "All of the stream was received before."),
        Failures,
        Conflict,
        Gone,
    )
)]
async fn follow(
    caller: Caller,
    grant: Option<StreamGrant>,
    Filter(query): Filter<FollowExploration>,
    LastPosition(last): LastPosition,
    State(served): State<AppState>,
) -> Result<Response, Problem> {
    // Before an agent is started that nobody could follow.
    let (client, opened) = served.streams.open(&caller.client)?;
    let agent = chosen(&client, grant, query, last.as_ref()).await?;
    let stream = client.follow_explorer(agent, last).await?;
    respond(stream, opened, caller, served).await
}

/// The agent that a request is about: the one that it goes on with, the active one that it names, or a new one.
pub(super) async fn chosen(
    client: &Client,
    grant: Option<StreamGrant>,
    query: FollowExploration,
    last: Option<&Position>,
) -> Result<entourage_types::AgentId, Problem> {
    let FollowExploration { prompt, agent_id: name, parent_id: parent, .. } = query;
    if let Some(last) = last {
        let is_for_it = grant.is_none_or(|grant| grant.0.record.agent == Some(last.agent()));
        let other = || Problem::unauthorized("the token is for the stream of another agent");
        return if is_for_it { Ok(client.agent(last.agent()).await?.id) } else { Err(other()) };
    }
    let new = NewExploration { name, parent, ..NewExploration::of(prompt.unwrap_or_default()) };
    if let Some(StreamGrant(token)) = grant {
        return Ok(client.explore_by(token, new).await?.id);
    }
    let Some(name) = new.name.clone() else { return Ok(client.explore(new, None).await?.id) };
    loop {
        if let Some(active) = client.active_named(&name).await? {
            return Ok(active.id);
        }
        match client.explore(new.clone(), None).await {
            // Another request started it at the same moment: it is followed.
            Err(Error::NameTaken { .. }) => {}
            started => return Ok(started?.id),
        }
    }
}

/// An exploration to start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
struct BeginExploration {
    /// What to explore.
    #[schema(min_length = 1, pattern = r"\S")]
    prompt: Option<String>,
    /// In place of a prompt: a conversation that the agent goes on with, whose last message is the user's.
    messages: Option<Vec<GivenMessage>>,
    /// The id by which the agent is to be known; none that an active agent has.
    agent_id: Option<String>,
    /// The id of the active agent below which it is put.
    parent_id: Option<String>,
    /// Whatever is to be kept with it.
    #[serde(default)]
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
}

/// A message of the AI SDK, of which the text counts.
#[derive(Debug, Deserialize, ToSchema)]
struct GivenMessage {
    /// `user` or `assistant`.
    #[schema(value_type = String)]
    role: Speaker,
    /// What was said.
    content: GivenContent,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "a text, or a list of `{\"type\": \"text\", \"text\": …}`")]
enum GivenContent {
    Text(String),
    Parts(Vec<TextPart>),
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum TextPart {
    /// Text; parts of other types are not taken.
    Text {
        /// The text.
        text: String,
    },
}

impl From<GivenMessage> for EarlierMessage {
    fn from(GivenMessage { role, content }: GivenMessage) -> Self {
        let content = match content {
            GivenContent::Text(text) => text,
            GivenContent::Parts(parts) => {
                parts.into_iter().map(|TextPart::Text { text }| text).collect::<Vec<_>>().join("\n")
            }
        };
        Self { role, content }
    }
}

/// Start an agent that explores: chunks as server-sent events
///
/// As `GET`, with the request in the body. It never goes on with an agent: an `agentId` that is active is refused. To go
/// on after a lost connection, send `GET /agent/stream` with the last event's id as `Last-Event-ID`.
#[utoipa::path(
    post, path = "/agent/stream", tag = "explorations", operation_id = "beginExploration",
    params(IdempotencyKey),
    request_body = BeginExploration,
    responses(
        (status = 200, description = "The stream.", body = String, content_type = "text/event-stream"),
        Failures,
        Conflict,
    )
)]
async fn begin(
    caller: Caller,
    key: IdempotencyKey,
    State(served): State<AppState>,
    Body(new): Body<BeginExploration>,
) -> Result<Response, Problem> {
    let BeginExploration { prompt, messages, agent_id: name, parent_id: parent, metadata } = new;
    let input = match (prompt, messages) {
        (Some(_), Some(_)) => return Err(Problem::invalid("give a prompt or messages, not both")),
        (Some(prompt), None) => ExplorationInput::Prompt(prompt),
        (None, messages) => {
            let messages = messages.unwrap_or_default();
            ExplorationInput::Messages(messages.into_iter().map(EarlierMessage::from).collect())
        }
    };
    let new = NewExploration { input, name, parent, metadata, kind: None };
    let (client, opened) = served.streams.open(&caller.client)?;
    let agent = client.explore(new, key.as_deref()).await?;
    let stream = client.follow_explorer(agent.id, None).await?;
    respond(stream, opened, caller, served).await
}

/// The stream as a response; 204 if the client has had all of it.
async fn respond(
    mut stream: ExplorerStream,
    opened: Opened,
    caller: Caller,
    served: AppState,
) -> Result<Response, Problem> {
    // Of an agent that has ended, all is on record. Of any other, the next chunk may take long.
    let first = if stream.has_ended() { Some(stream.next().await?) } else { None };
    if matches!(first, Some(None)) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let chunks = Chunks { first: first.flatten(), stream };
    let heartbeat = served.heartbeat;
    Ok(streamed(chunks, opened, heartbeat, ended(caller.until, served)))
}

/// The chunks of an exploration.
struct Chunks {
    /// One that was taken to know whether there is any.
    first: Option<(Position, Chunk)>,
    stream: ExplorerStream,
}

impl EventSource for Chunks {
    type Input = (Position, Chunk);

    async fn next(&mut self) -> entourage_engine::Result<Option<Self::Input>> {
        match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => self.stream.next().await,
        }
    }

    async fn encode(
        &mut self,
        (position, chunk): Self::Input,
        frames: &mut Vec<u8>,
    ) -> entourage_engine::Result<()> {
        Ok(message(frames, &position, &chunk)?)
    }
}
