//! The event stream of a tree. A client that was away sends the last number that it saw and misses nothing; a
//! client that reads slowly delays no one else.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{header::ACCEPT, request::Parts},
    response::{IntoResponse, Response},
};
use entourage_api::{Begin, CaughtUp, Event, EventPage, schema};
use entourage_engine::{EventFilter, Signal, Watch};
use entourage_types::AgentId;

use super::{Answer, Failures, Gone};
use crate::{
    Problem,
    extract::{Caller, Filter, Id},
    page::checked_limit,
    routes::api_router::{ApiRouter, routes},
    routes::sse::{EventSource, LastEventId, ended, frame, streamed},
    state::AppState,
    views,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(follow))
}

/// Follow the tree that an agent belongs to: first all events so far, then new ones
///
/// Server-sent events. A committed event has its number as `id`, its name as `event` and an `Event` as
/// `data`; events come in order, each once, without gaps. Once all events so far have been sent, an
/// `event: caught_up` without an id says so, with a `CaughtUp` as `data`. A piece of an answer under way is
/// an `event: delta` without an id, with a `Delta` as `data`. The stream ends when the server stops or the
/// token expires; reconnect with `Last-Event-ID`.
///
/// With `Accept: application/json` a page of events instead, by default the last ones.
#[utoipa::path(
    get, path = "/v1/agents/{id}/events", tag = "agents", operation_id = "followTree",
    params(
        ("id" = schema::AgentId, Path, description = "Any agent of the tree."),
        Begin,
        LastEventId,
    ),
    responses(
        (status = 200, description = "The stream, or a page.", content(
            (Event = "text/event-stream"),
            (EventPage = "application/json"),
        )),
        Gone,
        Failures,
    )
)]
async fn follow(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(begin): Filter<Begin>,
    last: LastEventId,
    accepted: AcceptsJson,
    State(served): State<AppState>,
) -> Result<Response, Problem> {
    if accepted.0 {
        return Ok(page(&caller, id, begin).await?.into_response());
    }
    if begin.is_for_pages() {
        let why = "only pages take `before`, `agent`, `event` and `limit`: send `Accept: application/json`";
        return Err(Problem::bad_query(why));
    }
    let root = caller.client.agent(id).await?.root;
    let (client, opened) = served.streams.open(&caller.client)?;
    let watch = client.watch(root, last.number.or(begin.after)).await?;
    Ok(streamed(Tree(watch), opened, served.heartbeat, ended(caller.until, served)))
}

/// A page of events, by default the last ones.
pub(crate) async fn page(caller: &Caller, id: AgentId, begin: Begin) -> Answer<EventPage> {
    let Begin { after, before, agent, event: name, limit } = begin;
    let filter = EventFilter { after, before, agent, name, limit: checked_limit(limit)? };
    Ok(Json(views::event_page(caller.client.event_page(id, filter).await?)))
}

/// Whether a client prefers JSON to a stream: it says so, and accepts no stream.
struct AcceptsJson(bool);

impl<S: Send + Sync> FromRequestParts<S> for AcceptsJson {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let accepts = |kind: &str| {
            let said = parts.headers.get_all(ACCEPT).iter().filter_map(|said| said.to_str().ok());
            said.flat_map(|said| said.split(','))
                .any(|said| said.split(';').next().unwrap_or("").trim() == kind)
        };
        Ok(Self(accepts("application/json") && !accepts("text/event-stream")))
    }
}

/// The events of a tree, unchanged.
struct Tree(Watch);

impl EventSource for Tree {
    type Input = Signal;

    async fn next(&mut self) -> entourage_engine::Result<Option<Signal>> {
        self.0.next().await.map(Some)
    }

    async fn encode(&mut self, signal: Signal, frames: &mut Vec<u8>) -> entourage_engine::Result<()> {
        match signal {
            Signal::Event(event) => {
                let name = event.body.name();
                let event = Event::from(Arc::unwrap_or_clone(event));
                frame(frames, Some(event.seq), name.as_str(), &event)?;
            }
            Signal::CaughtUp(last) => frame(frames, None, "caught_up", &CaughtUp { last })?,
            Signal::Delta(delta) => frame(frames, None, "delta", &views::delta(&delta))?,
            Signal::Inbox => {}
        }
        Ok(())
    }
}
