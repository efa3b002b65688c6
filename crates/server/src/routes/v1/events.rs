//! Events: a tree as it lives. A client that was away says which number it saw last and has
//! missed nothing; one that reads slowly holds nobody up.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequestParts, State},
    http::{
        HeaderName,
        header::{CACHE_CONTROL, CONTENT_TYPE},
        request::Parts,
    },
    response::IntoResponse,
};
use entourage_engine::{Signal, Watch};
use entourage_types::{AgentId, Time};
use futures::{FutureExt as _, Stream, StreamExt as _, stream};
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

/// At about how many bytes a piece of the body is full.
const PIECE: usize = 32 * 1024;

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
    let heartbeat = served.heartbeat;
    let ended = ended(caller.until, served);
    let body = Body::from_stream(pieces(watch, heartbeat).take_until(Box::pin(ended)));
    // Proxies of the nginx sort hold answers back unless told not to.
    let buffering = HeaderName::from_static("x-accel-buffering");
    Ok(([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache"), (buffering, "no")], body))
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

/// What is watched, as pieces of the body; ends when it cannot be watched any more, so that the client
/// comes back.
///
/// What is there at one moment goes out in one piece, written into one buffer: who was away gets
/// thousands of events.
fn pieces(watch: Watch, heartbeat: Duration) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(Some(watch), move |watch| async move {
        let mut watch = watch?;
        let mut frames = Vec::new();
        let Ok(first) = tokio::time::timeout(heartbeat, watch.next()).await else {
            return Some((Ok(Bytes::from_static(b":\n\n")), Some(watch)));
        };
        let mut next = Some(first);
        while let Some(signal) = next {
            if !told(signal, &mut frames) {
                return Some((Ok(frames.into()), None));
            }
            next = if frames.len() < PIECE { watch.next().now_or_never() } else { None };
        }
        Some((Ok(frames.into()), Some(watch)))
    })
}

/// Writes one signal; whether there can be more after it.
fn told(signal: entourage_engine::Result<Signal>, frames: &mut Vec<u8>) -> bool {
    let written = match signal {
        Ok(Signal::Event(event)) => {
            let (seq, name) = (event.seq, event.body.name());
            frame(frames, Some(seq), name, &EventView::from(Arc::unwrap_or_clone(event)))
        }
        Ok(Signal::CaughtUp(last)) => frame(frames, None, "caught_up", &CaughtUpView { last }),
        Ok(Signal::Delta(delta)) => frame(frames, None, "delta", &DeltaView::from(&*delta)),
        Err(error) => {
            tracing::warn!(%error, "a stream of events ends");
            return false;
        }
    };
    written.inspect_err(|error| tracing::error!(%error, "an event cannot be written")).is_ok()
}

/// One frame. Its data are JSON, which has no ends of lines in it; half a frame is taken back.
fn frame(frames: &mut Vec<u8>, id: Option<u64>, name: &str, data: &impl Serialize) -> serde_json::Result<()> {
    let begin = frames.len();
    if let Some(id) = id {
        frames.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    for part in ["event: ", name, "\ndata: "] {
        frames.extend_from_slice(part.as_bytes());
    }
    let written = serde_json::to_writer(&mut *frames, data);
    match written {
        Ok(()) => frames.extend_from_slice(b"\n\n"),
        Err(_) => frames.truncate(begin),
    }
    written
}
