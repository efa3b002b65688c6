//! Streams of server-sent events: where they begin, how they are sent, when they end.

use std::{convert::Infallible, time::Duration};

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
use entourage_engine::Result as Told;
use entourage_types::Time;
use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::{Problem, state::Served, streams::Opened};

/// At about how many bytes a piece of the body is full.
const PIECE: usize = 32 * 1024;

/// What follows something and tells of it in its own words.
pub(crate) trait Teller: Send + 'static {
    /// What it hears.
    type Heard: Send;

    /// What happens next; none once all is told. The future may be dropped before it is ready: nothing
    /// is lost.
    fn hear(&mut self) -> impl Future<Output = Told<Option<Self::Heard>>> + Send;

    /// Writes what was heard, whole.
    fn tell(&mut self, heard: Self::Heard, frames: &mut Vec<u8>) -> impl Future<Output = Told<()>> + Send;
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Begin {
    /// Begin after the event with this number; with the first that is kept, unless given.
    /// `Last-Event-ID` comes first.
    pub(crate) after: Option<u64>,
}

/// What a client says that comes back.
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

/// What is told, as an answer, until it has [`ended`].
pub(crate) fn streamed(
    teller: impl Teller,
    opened: Opened,
    heartbeat: Duration,
    ended: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let body = Body::from_stream(pieces(teller, opened, heartbeat).take_until(Box::pin(ended)));
    // Proxies of the nginx sort hold answers back unless told not to.
    let buffering = HeaderName::from_static("x-accel-buffering");
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache"), (buffering, "no")];
    (headers, body).into_response()
}

/// Ready once the stream shall end: the server stops, or the caller's token has expired.
pub(crate) async fn ended(until: Option<Time>, served: Served) {
    let expired = async {
        match until {
            Some(until) => served.engine.clock().sleep_until(until).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = served.shutdown.cancelled() => {}
        () = expired => {}
    }
}

/// What is told, as pieces of the body; ends when all is told, or when it cannot be followed any more, so
/// that the client comes back.
///
/// What is there at one moment goes out in one piece, written into one buffer: who was away gets
/// thousands of events.
fn pieces(
    teller: impl Teller,
    opened: Opened,
    heartbeat: Duration,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(Some((teller, opened)), move |open| async move {
        let (mut teller, opened) = open?;
        let mut frames = Vec::new();
        let Ok(first) = tokio::time::timeout(heartbeat, teller.hear()).await else {
            return Some((Ok(Bytes::from_static(b":\n\n")), Some((teller, opened))));
        };
        let mut next = Some(first);
        while let Some(heard) = next {
            let told = match heard {
                Ok(Some(heard)) => teller.tell(heard, &mut frames).await,
                Ok(None) => return Some((Ok(frames.into()), None)),
                Err(error) => Err(error),
            };
            if let Err(error) = told {
                tracing::warn!(%error, "a stream of events ends");
                return Some((Ok(frames.into()), None));
            }
            next = if frames.len() < PIECE { teller.hear().now_or_never() } else { None };
        }
        Some((Ok(frames.into()), Some((teller, opened))))
    })
}

/// One frame. Its data are JSON, which has no ends of lines in it; half a frame is taken back.
pub(crate) fn frame(
    frames: &mut Vec<u8>,
    id: Option<u64>,
    name: &str,
    data: &impl Serialize,
) -> serde_json::Result<()> {
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
