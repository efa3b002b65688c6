//! Agencies: agents that write to each other along a chart. Something said to one is answered at once
//! or as a stream.

use std::{convert::Infallible, time::Duration};

use axum::{
    Json,
    http::StatusCode,
    response::{
        IntoResponse, Response,
        sse::{Event as Frame, KeepAlive, Sse},
    },
};
use entourage_engine::{
    Client, Speech, Spoken,
    responses::{Follow, Origin, StreamEvent},
};
use entourage_types::{CallId, Terms};
use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Id, IdempotencyKey},
    page::List,
    routes::sse::ended,
    state::Served,
    views::{AgencyView, QuestionView, ResponseView, RunItemView, RunTextView, ThreadView},
};

type AgencyList = List<AgencyView>;
type ThreadList = List<ThreadView>;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(respond))
        .routes(routes!(threads))
}

/// List agencies, by name
#[utoipa::path(
    get, path = "/v1/agencies", tag = "agencies", operation_id = "listAgencies",
    responses((status = 200, description = "All agencies.", body = AgencyList), Failures)
)]
async fn list(caller: Caller) -> Json<AgencyList> {
    Json(List::of(caller.client.agencies()))
}

/// Get an agency: its agents, its chart
#[utoipa::path(
    get, path = "/v1/agencies/{name}", tag = "agencies", operation_id = "getAgency",
    params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, description = "The agency.", body = AgencyView), Failures)
)]
async fn get(caller: Caller, Id(name): Id<String>) -> Answer<AgencyView> {
    Ok(Json(caller.client.agency(&name)?.into()))
}

/// Something to say to an agency.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Respond {
    /// What to say.
    message: String,
    /// The chat, by whatever name; the next message of the same name goes on there. A new one unless given.
    #[serde(default)]
    chat_id: Option<String>,
    /// The entry point to talk to; the agency's first unless given.
    #[serde(default)]
    agent: Option<String>,
    /// In whose name it is said; the person's unless given. Another name is another thread.
    #[serde(default)]
    sender_name: Option<String>,
    /// Model calls of this run; as many as the agent may make unless given.
    #[serde(default)]
    max_steps: Option<u32>,
    /// How deep it may be handed on from agent to agent; as deep as each agent may unless given.
    #[serde(default)]
    max_recursion_depth: Option<u16>,
    /// A check of the house that the answer must pass beside those of the agent.
    #[serde(default)]
    response_validator: Option<String>,
    /// The final text alone, as plain text.
    #[serde(default)]
    text_only: bool,
    /// Server-sent events instead of one answer.
    #[serde(default)]
    stream: bool,
    /// Whether it goes on when nobody waits for it any more; as it is with an `Idempotency-Key` unless
    /// given, since whoever names a key means to ask again. Otherwise hanging up stops it.
    #[serde(default)]
    detached: Option<bool>,
}

/// Say something to an agency and get the answer
///
/// With `stream`, server-sent events: `item` (a `RunItem`, of the agent that was asked or of one that
/// works for it), `text` (a `RunText`, a piece of an answer under way), `question` (a `Question` that
/// must be answered before it goes on), and at the end `done` or `error` (an `AgencyResponse`). The same
/// message under the same `Idempotency-Key` is said once, and followed again.
#[utoipa::path(
    post, path = "/v1/agencies/{name}/responses", tag = "agencies", operation_id = "createAgencyResponse",
    params(("name" = String, Path, description = "The agency's name."), IdempotencyKey),
    request_body = Respond,
    responses(
        (status = 200, description = "The answer, or why there is none.", body = ResponseView),
        (status = 202, description = "It goes on once its questions were answered.", body = ResponseView),
        Failures,
        Conflict,
    )
)]
async fn respond(
    caller: Caller,
    Id(name): Id<String>,
    key: IdempotencyKey,
    axum::extract::State(served): axum::extract::State<Served>,
    Body(said): Body<Respond>,
) -> Result<Response, Problem> {
    // The same message under the same key is in the same chat.
    let new_chat = || key.as_deref().map_or_else(|| CallId::new().to_string(), str::to_owned);
    let chat_id = said.chat_id.unwrap_or_else(new_chat);
    let speech = Speech {
        chat: chat_id.clone(),
        to: said.agent.unwrap_or_default(),
        from: said.sender_name,
        text: said.message,
        terms: Terms {
            max_steps: said.max_steps,
            max_depth: said.max_recursion_depth,
            validator: said.response_validator,
            ..Terms::default()
        },
    };
    let follow = caller.client.respond(&name, speech, key.as_deref()).await?;
    let detached = said.detached.unwrap_or(key.as_deref().is_some());
    let hangs_up = (!detached).then(|| (caller.client.clone(), follow.spoken()));
    let stays = CancellationToken::new();
    let heard = Heard { hangs_up, follow, stays: stays.clone() };
    let (heartbeat, shutdown) = (served.heartbeat, served.shutdown.clone());
    if said.stream {
        let ended = ended(caller.until, served);
        let ended = async move {
            ended.await;
            stays.cancel();
        };
        return Ok(streamed(heard, chat_id, heartbeat, ended));
    }
    let answer = tokio::select! {
        answer = whole(heard, chat_id) => answer?,
        () = async { shutdown.cancelled().await; stays.cancel() } => {
            return Err(Problem::unavailable("the server stops; what was said is answered after its next start"));
        }
    };
    match answer {
        (status, view) if said.text_only && status == StatusCode::OK => {
            view.into_text().map(IntoResponse::into_response)
        }
        answer => Ok((answer.0, Json(answer.1)).into_response()),
    }
}

/// An answer that somebody waits for.
struct Heard {
    follow: Follow,
    /// What is withdrawn when nobody waits any more.
    hangs_up: Option<(Client, Spoken)>,
    /// Cancelled when it is the server that ends it, and not who waits.
    stays: CancellationToken,
}

impl Heard {
    async fn next(&mut self) -> Option<entourage_engine::Result<StreamEvent>> {
        let event = self.follow.next().await;
        // A question waits for a person, who may take longer than any connection.
        let goes_on_alone = !matches!(
            event,
            Some(Ok(StreamEvent::Item(_) | StreamEvent::Text { .. } | StreamEvent::Void { .. }))
        );
        if goes_on_alone {
            self.hangs_up = None;
        }
        event
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        let Some((client, Spoken { agent, post, .. })) = self.hangs_up.take() else { return };
        if self.stays.is_cancelled() {
            return;
        }
        tokio::spawn(async move {
            if let Err(error) = client.withdraw(agent, post).await {
                tracing::warn!(%error, "what nobody waits for any more goes on");
            }
        });
    }
}

/// Waits for the end, or for a question.
async fn whole(mut heard: Heard, chat_id: String) -> Result<(StatusCode, ResponseView), Problem> {
    while let Some(event) = heard.next().await {
        match event? {
            StreamEvent::Done(result) | StreamEvent::Error(result) => {
                return Ok((StatusCode::OK, ResponseView::ended(chat_id, *result)));
            }
            StreamEvent::Question(question) => {
                let agent = question.kind.clone();
                return Ok((StatusCode::ACCEPTED, ResponseView::asking(chat_id, agent, *question)));
            }
            StreamEvent::Item(_) | StreamEvent::Text { .. } | StreamEvent::Void { .. } => {}
        }
    }
    Err(Problem::internal("the answer ended before its end; the server's log may have the cause"))
}

fn streamed(
    heard: Heard,
    chat_id: String,
    heartbeat: Duration,
    ended: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let frames = stream::unfold((heard, chat_id), |(mut heard, chat_id)| async move {
        let event = heard.next().await?;
        let frame = match event {
            Ok(event) => frame(event, &chat_id),
            Err(error) => {
                tracing::warn!(%error, "a stream of an answer ends");
                return None;
            }
        };
        let frame = frame.inspect_err(|error| tracing::error!(%error, "an event cannot be written")).ok()?;
        Some((Ok::<_, Infallible>(frame), (heard, chat_id)))
    });
    let frames = frames.take_until(Box::pin(ended));
    let keep_alive = KeepAlive::new().interval(heartbeat);
    ([("x-accel-buffering", "no")], Sse::new(frames).keep_alive(keep_alive)).into_response()
}

fn frame(event: StreamEvent, chat_id: &str) -> serde_json::Result<Frame> {
    let piece = |origin: Origin, text| RunTextView { origin: origin.into(), text };
    match event {
        StreamEvent::Item(item) => with_data("item", &RunItemView::from(item)),
        StreamEvent::Text { origin, text } => with_data("text", &piece(origin, Some(text))),
        StreamEvent::Void { origin } => with_data("text", &piece(origin, None)),
        StreamEvent::Question(question) => with_data("question", &QuestionView::from(*question)),
        StreamEvent::Done(result) => with_data("done", &ResponseView::ended(chat_id.to_owned(), *result)),
        StreamEvent::Error(result) => with_data("error", &ResponseView::ended(chat_id.to_owned(), *result)),
    }
}

fn with_data(name: &str, data: &impl Serialize) -> serde_json::Result<Frame> {
    Ok(Frame::default().event(name).data(serde_json::to_string(data)?))
}

/// List the threads of a chat of an agency, oldest first
#[utoipa::path(
    get, path = "/v1/agencies/{name}/chats/{chat}/threads", tag = "agencies", operation_id = "listThreads",
    params(
        ("name" = String, Path, description = "The agency's name."),
        ("chat" = String, Path, description = "The chat's."),
    ),
    responses((status = 200, description = "All threads; none where nothing was said yet.", body = ThreadList), Failures)
)]
async fn threads(
    caller: Caller,
    axum::extract::Path((name, chat)): axum::extract::Path<(String, String)>,
) -> Answer<ThreadList> {
    Ok(Json(List::of(caller.client.threads(&name, &chat).await?)))
}
