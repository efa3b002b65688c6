//! The event stream of a tree. A client that was away sends the last number that it saw and misses nothing; a
//! client that reads slowly delays no one else.

use std::sync::Arc;

use axum::{extract::State, response::IntoResponse};
use entourage_api::{Begin, CaughtUp, Event, schema};
use entourage_engine::{Signal, Watch};
use entourage_types::AgentId;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Failures, Gone};
use crate::{
    Problem,
    extract::{Caller, Filter, Id},
    routes::sse::{EventSource, LastEventId, ended, frame, streamed},
    state::AppState,
    views,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(follow))
}

/// Follow the tree that an agent belongs to: first all events so far, then new ones
///
/// Server-sent events. A committed event has its number as `id`, its name as `event` and an `Event` as
/// `data`; events come in order, each once, without gaps. Once all events so far have been sent, an
/// `event: caught_up` without an id says so, with a `CaughtUp` as `data`. A piece of an answer under way is
/// an `event: delta` without an id, with a `Delta` as `data`. The stream ends when the server stops or the
/// token expires; reconnect with `Last-Event-ID`.
#[utoipa::path(
    get, path = "/v1/agents/{id}/events", tag = "agents", operation_id = "followTree",
    params(
        ("id" = schema::AgentId, Path, description = "Any agent of the tree."),
        Begin,
        LastEventId,
    ),
    responses(
        (status = 200, description = "The stream.", body = Event, content_type = "text/event-stream"),
        Gone,
        Failures,
    )
)]
async fn follow(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(begin): Filter<Begin>,
    last: LastEventId,
    State(served): State<AppState>,
) -> Result<impl IntoResponse, Problem> {
    let root = caller.client.agent(id).await?.root;
    let (client, opened) = served.streams.open(&caller.client)?;
    let watch = client.watch(root, last.number.or(begin.after)).await?;
    Ok(streamed(Tree(watch), opened, served.heartbeat, ended(caller.until, served)))
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
                let event = Event::from(Arc::unwrap_or_clone(event));
                frame(frames, Some(event.seq), event.body.name(), &event)?;
            }
            Signal::CaughtUp(last) => frame(frames, None, "caught_up", &CaughtUp { last })?,
            Signal::Delta(delta) => frame(frames, None, "delta", &views::delta(&delta))?,
        }
        Ok(())
    }
}
