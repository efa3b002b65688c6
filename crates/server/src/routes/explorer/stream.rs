//! The stream of an exploration: starts an agent, or follows one, and sends its chunks as server-sent events.

use axum::{
    extract::{FromRequestParts, State},
    http::{Method, StatusCode, Uri, header::ALLOW, request::Parts},
    response::{IntoResponse, Response},
    routing::head,
};
use entourage_engine::{
    Client, EarlierMessage, Error, ExplorationInput, NewExploration, Speaker,
    explorer::{Chunk, ExplorerStream, Position},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Problem,
    auth::StreamGrant,
    extract::{Body, Caller, Filter, IdempotencyKey},
    problem::method_not_allowed,
    routes::api_router::{ApiRouter, routes},
    routes::{
        failures::{Conflict, Failures, Gone},
        sse::{EventSource, ended, message, streamed},
    },
    state::AppState,
    streams::Opened,
};

pub(super) fn routes() -> ApiRouter {
    // Otherwise HEAD would be a GET, which starts an agent.
    ApiRouter::new().routes(routes!(follow, begin)).route("/agent/stream", head(no_head))
}

async fn no_head(method: Method, uri: Uri) -> impl IntoResponse {
    ([(ALLOW, "GET,POST")], method_not_allowed(method, uri).await)
}

/// Which agent is started or followed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FollowExploration {
    /// What to explore; needed to start an agent. Without it the agent is followed, also if it has ended.
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
        let unreadable = |_| Problem::bad_header("`Last-Event-ID`: no position has such characters");
        let text = header.to_str().map_err(unreadable)?.trim();
        // A browser that has seen no id yet may send an empty one.
        if text.is_empty() {
            return Ok(Self(None));
        }
        text.parse().map(|position| Self(Some(position))).map_err(|error: entourage_engine::Error| {
            Problem::bad_header(format!("`Last-Event-ID`: {error}"))
        })
    }
}

/// Whether a browser opens the address as a page, or fetches it in advance: a link must not start work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageVisit {
    Yes,
    No,
}

impl<S: Send + Sync> FromRequestParts<S> for PageVisit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let says = |name: &str, word: &str| {
            let all = parts.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
            all.flat_map(|value| value.split([',', ';'])).any(|one| one.trim().eq_ignore_ascii_case(word))
        };
        let is_visit = says("sec-fetch-mode", "navigate")
            || says("sec-fetch-mode", "no-cors")
            || says("sec-purpose", "prefetch")
            || says("purpose", "prefetch")
            || says("accept", "text/html");
        Ok(if is_visit { Self::Yes } else { Self::No })
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
    visit: PageVisit,
    Filter(query): Filter<FollowExploration>,
    LastPosition(last): LastPosition,
    State(served): State<AppState>,
) -> Result<Response, Problem> {
    // Before an agent is started that nobody could follow.
    let (client, opened) = served.streams.open(&caller.client)?;
    let agent = chosen(&client, grant, query, last.as_ref(), visit).await?;
    let stream = client.follow_explorer(agent, last).await?;
    respond(stream, opened, caller, served).await
}

/// The agent that a request is about: the one that it goes on with, the active one that it names, or a new one.
pub(super) async fn chosen(
    client: &Client,
    grant: Option<StreamGrant>,
    query: FollowExploration,
    last: Option<&Position>,
    visit: PageVisit,
) -> Result<entourage_types::AgentId, Problem> {
    let FollowExploration { prompt, agent_id: name, parent_id: parent, .. } = query;
    if let Some(last) = last {
        if grant.is_some_and(|grant| grant.0.record.agent != Some(last.agent())) {
            return Err(Problem::unauthorized("the token is for the stream of another agent"));
        }
        let agent = client.agent(last.agent()).await?.id;
        return match name {
            Some(name) if !client.was_named(agent, &name).await? => Err(Problem::bad_header(format!(
                "`Last-Event-ID` is of another stream than that of `{name}`"
            ))),
            _ => Ok(agent),
        };
    }
    // Without anything to explore it is followed, also if it has ended.
    if let (None, None, Some(name)) = (&prompt, &grant, &name) {
        return Ok(client.named_agent(name).await?.id);
    }
    if visit == PageVisit::Yes {
        return Err(Problem::page_visit(
            "a link or a preview starts no agent: open the stream by `EventSource`, or by another client",
        ));
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
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
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
            GivenContent::Parts(parts) => parts.into_iter().map(|TextPart::Text { text }| text).collect(),
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
    let metadata = metadata.unwrap_or_default();
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
