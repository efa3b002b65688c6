//! Events: a tree as it lives. A client that was away says which number it saw last and has
//! missed nothing; one that reads slowly holds nobody up.

use std::{convert::Infallible, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequestParts, State},
    http::{HeaderName, request::Parts},
    response::{
        IntoResponse, Response,
        sse::{Event as Frame, KeepAlive, Sse},
    },
};
use entourage_engine::{Signal, Watch};
use entourage_types::{AgentId, Time};
use futures::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Failures, Gone};
use crate::{
    Problem,
    extract::{Caller, Filter, Id},
    state::Served,
    views::{CaughtUpView, DeltaView, EventView, schema},
};

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(follow))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Begin {
    /// Begin after the event with this number; with the first that is kept, unless given.
    /// `Last-Event-ID` comes first.
    after: Option<u64>,
}

/// What a client says that comes back.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
struct LastEventId {
    /// Begin after the event with this number, the last one seen.
    #[param(rename = "Last-Event-ID")]
    number: Option<u64>,
}

impl<S: Send + Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(header) = parts.headers.get("last-event-id") else { return Ok(Self { number: None }) };
        let number = header.to_str().ok().and_then(|text| text.trim().parse().ok());
        let wrong = || Problem::bad_header("`Last-Event-ID` takes the number of the last event seen");
        Ok(Self { number: Some(number.ok_or_else(wrong)?) })
    }
}

/// Follow the tree that an agent belongs to: what was, then what comes
///
/// Server-sent events. A committed fact has its number as `id`, its word as `event` and an `Event`
/// as `data`; facts come in order, each once, none left out. Once all that was has been told, an
/// `event: caught_up` without an id says so, with a `CaughtUp` as `data`. A piece of an answer under
/// way is an `event: delta` without an id, with a `Delta` as `data`. The stream ends when the
/// server stops or the token expires; come back with `Last-Event-ID`.
#[utoipa::path(
    get, path = "/v1/agents/{id}/events", tag = "agents", operation_id = "followTree",
    params(
        ("id" = schema::AgentId, Path, description = "Any agent of the tree."),
        Begin,
        LastEventId,
    ),
    responses(
        (status = 200, description = "The stream.", body = EventView, content_type = "text/event-stream"),
        Gone,
        Failures,
    )
)]
async fn follow(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(begin): Filter<Begin>,
    last: LastEventId,
    State(served): State<Served>,
) -> Result<impl IntoResponse, Problem> {
    let root = caller.client.agent(id).await?.root;
    let watch = caller.client.watch(root, last.number.or(begin.after)).await?;
    let keep_alive = KeepAlive::new().interval(served.heartbeat);
    let ended = ended(caller.until, served);
    let stream = Sse::new(frames(watch).take_until(Box::pin(ended))).keep_alive(keep_alive);
    let (parts, body) = stream.into_response().into_parts();
    // What is there at one moment goes out in one piece: who was away gets thousands of events.
    let pieces = body.into_data_stream().ready_chunks(TOGETHER).map(joined);
    let response = Response::from_parts(parts, Body::from_stream(pieces));
    // Proxies of the nginx sort hold answers back unless told not to.
    Ok(([(HeaderName::from_static("x-accel-buffering"), "no")], response))
}

/// At most so many frames in one piece of the body.
const TOGETHER: usize = 64;

/// Frames as one piece; a failure takes those before it along, which the client then asks for again.
fn joined(frames: Vec<Result<Bytes, axum::Error>>) -> Result<Bytes, axum::Error> {
    let frames = frames.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(if let [one] = &frames[..] { one.clone() } else { frames.concat().into() })
}

/// Ready once the stream shall end: the server stops, or the caller's token has expired.
async fn ended(until: Option<Time>, served: Served) {
    let expired = async {
        match until {
            Some(until) => served.house.clock().sleep_until(until).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = served.shutdown.cancelled() => {}
        () = expired => {}
    }
}

/// What is watched, as frames; ends when it cannot be watched any more, so that the client comes back.
fn frames(watch: Watch) -> impl Stream<Item = Result<Frame, Infallible>> {
    stream::unfold(watch, |mut watch| async move {
        let frame = match watch.next().await {
            Ok(Signal::Event(event)) => {
                let frame = Frame::default().id(event.seq.to_string()).event(event.body.name());
                with_data(frame, &EventView::from(Arc::unwrap_or_clone(event)))
            }
            Ok(Signal::CaughtUp(last)) => {
                with_data(Frame::default().event("caught_up"), &CaughtUpView { last })
            }
            Ok(Signal::Delta(delta)) => with_data(Frame::default().event("delta"), &DeltaView::from(&*delta)),
            Err(error) => {
                tracing::warn!(%error, "a stream of events ends");
                return None;
            }
        };
        match frame {
            Ok(frame) => Some((Ok(frame), watch)),
            Err(error) => {
                tracing::error!(%error, "an event cannot be written");
                None
            }
        }
    })
}

/// A frame with its data, written whole: a frame that takes JSON piece by piece looks for the ends of
/// lines in each of them.
fn with_data(frame: Frame, data: &impl Serialize) -> serde_json::Result<Frame> {
    Ok(frame.data(serde_json::to_string(data)?))
}
