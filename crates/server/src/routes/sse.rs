//! Streams of server-sent events: where they begin, how they are sent, when they end.

use std::{convert::Infallible, fmt::Display, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::FromRequestParts,
    http::{
        HeaderName,
        header::{CACHE_CONTROL, CONTENT_TYPE},
        request::Parts,
    },
    response::{IntoResponse, Response},
};
use entourage_types::Time;
use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use serde::Serialize;
use utoipa::IntoParams;

use crate::{Problem, state::AppState, streams::Opened};

/// The size in bytes at which a piece of the body is sent.
const PIECE: usize = 32 * 1024;

/// A source of server-sent events.
pub(crate) trait EventSource: Send + 'static {
    /// What the source waits for.
    type Input: Send;

    /// Waits for what comes next; `None` at the end. The future may be dropped before it is ready without
    /// losing anything.
    fn next(&mut self) -> impl Future<Output = entourage_engine::Result<Option<Self::Input>>> + Send;

    /// Writes all frames for what came.
    fn encode(
        &mut self,
        heard: Self::Input,
        frames: &mut Vec<u8>,
    ) -> impl Future<Output = entourage_engine::Result<()>> + Send;
}

/// The header of a client that reconnects.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct LastEventId {
    /// Begin after the event with this number, the last one seen.
    #[param(rename = "Last-Event-ID")]
    pub(crate) number: Option<u64>,
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

/// Returns the response that streams a source until the source ends, or until [`ended`] resolves.
pub(crate) fn streamed(
    source: impl EventSource,
    opened: Opened,
    heartbeat: Duration,
    ended: impl Future + Send + 'static,
) -> Response {
    let body = Body::from_stream(pieces(source, opened, heartbeat).take_until(Box::pin(ended.map(drop))));
    // nginx and similar proxies buffer responses unless this header forbids it.
    let buffering = HeaderName::from_static("x-accel-buffering");
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache"), (buffering, "no")];
    (headers, body).into_response()
}

/// Why a stream must end before its source does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The server stops.
    Stopping,
    /// The caller's token has expired.
    Expired,
}

/// Resolves when the stream must end.
pub(crate) async fn ended(until: Option<Time>, served: AppState) -> Ending {
    let expired = async {
        match until {
            Some(until) => served.engine.clock().sleep_until(until).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = served.shutdown.cancelled() => Ending::Stopping,
        () = expired => Ending::Expired,
    }
}

/// The pieces of the body. They end with the source, or when following it fails, so that the client
/// reconnects.
///
/// Events that are ready at the same time go out in one piece, written into one buffer: a client that was
/// away gets thousands of events.
fn pieces(
    source: impl EventSource,
    opened: Opened,
    heartbeat: Duration,
) -> impl Stream<Item = entourage_engine::Result<Bytes, Infallible>> {
    stream::unfold(Some((source, opened)), move |open| async move {
        let (mut source, opened) = open?;
        let mut frames = Vec::new();
        let Ok(first) = tokio::time::timeout(heartbeat, source.next()).await else {
            return Some((Ok(Bytes::from_static(b":\n\n")), Some((source, opened))));
        };
        let mut next = Some(first);
        while let Some(heard) = next {
            let told = match heard {
                Ok(Some(heard)) => source.encode(heard, &mut frames).await,
                Ok(None) => return Some((Ok(frames.into()), None)),
                Err(error) => Err(error),
            };
            if let Err(error) = told {
                tracing::warn!(%error, "a stream of events ends");
                return Some((Ok(frames.into()), None));
            }
            next = if frames.len() < PIECE { source.next().now_or_never() } else { None };
        }
        Some((Ok(frames.into()), Some((source, opened))))
    })
}

/// Writes one frame. Its data is JSON, which contains no line breaks. If it cannot be written whole, nothing
/// of it stays.
pub(crate) fn frame(
    frames: &mut Vec<u8>,
    id: Option<u64>,
    name: &str,
    data: &impl Serialize,
) -> serde_json::Result<()> {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    whole(frames, &[&id, "event: ", name, "\n"], data)
}

/// Writes one frame without a name: browsers report it as a message.
pub(crate) fn message(
    frames: &mut Vec<u8>,
    id: &impl Display,
    data: &impl Serialize,
) -> serde_json::Result<()> {
    whole(frames, &["id: ", &id.to_string(), "\n"], data)
}

fn whole(frames: &mut Vec<u8>, head: &[&str], data: &impl Serialize) -> serde_json::Result<()> {
    let begin = frames.len();
    for part in head.iter().chain(&["data: "]) {
        frames.extend_from_slice(part.as_bytes());
    }
    let written = serde_json::to_writer(&mut *frames, data);
    match written {
        Ok(()) => frames.extend_from_slice(b"\n\n"),
        Err(_) => frames.truncate(begin),
    }
    written
}
