//! One stream of hints for everything that an owner has. Hints of a moment come together, encoded once for all
//! connections; a connection that falls behind gets a hint to read everything again.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use entourage_api::{FollowNews, Hello, NewsEvent};
use entourage_engine::{AgentDelta, DeltaFeed, NewsFeed};
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use super::Failures;
use crate::{
    Problem,
    console::assets,
    extract::{Caller, Filter},
    routes::api_router::{ApiRouter, routes},
    routes::sse::{EventSource, ended, frame, streamed},
    state::AppState,
    views,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(follow))
}

/// Follow everything that you have: hints of what changed
///
/// Server-sent events without ids: what was missed is not sent again, and a client reads what it shows after each
/// connect. First `hello` (a `Hello`); then `news` (a `News`), at most four a second; `delta` (a `Delta`) for the
/// agent in `follow`; and `beat` when nothing else was sent for a while.
#[utoipa::path(
    get, path = "/v1/news", tag = "agents", operation_id = "followNews", params(FollowNews),
    responses((status = 200, description = "The stream.", body = NewsEvent, content_type = "text/event-stream"), Failures)
)]
async fn follow(
    caller: Caller,
    Filter(query): Filter<FollowNews>,
    State(served): State<AppState>,
) -> Result<impl IntoResponse, Problem> {
    let ended = ended(caller.until, served.clone());
    followed(&caller, query, &served, ended).await
}

/// The stream, which ends with its caller's right to it.
pub(crate) async fn followed(
    caller: &Caller,
    query: FollowNews,
    served: &AppState,
    ended: impl Future + Send + 'static,
) -> Result<Response, Problem> {
    let deltas = match query.follow {
        Some(agent) => Some(caller.client.deltas(agent).await?),
        None => None,
    };
    let (client, opened) = served.streams.open(&caller.client)?;
    let news = client.news().await?;
    let heartbeat = served.heartbeat;
    let mut beat = interval_at(tokio::time::Instant::now() + heartbeat, heartbeat);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let source = Hints { hello: true, news, deltas, beat };
    // Browsers do not show comments, so silence is ended by `beat`.
    let silence = heartbeat.saturating_add(Duration::from_secs(3600));
    Ok(streamed(source, opened, silence, ended))
}

/// What an owner's connection is sent.
struct Hints {
    hello: bool,
    news: NewsFeed,
    deltas: Option<DeltaFeed>,
    beat: Interval,
}

enum Heard {
    Hello(u32),
    News(Arc<entourage_engine::News>),
    Delta(Arc<AgentDelta>),
    Beat,
}

impl EventSource for Hints {
    type Input = Heard;

    async fn next(&mut self) -> entourage_engine::Result<Option<Heard>> {
        if std::mem::take(&mut self.hello) {
            return Ok(Some(Heard::Hello(self.news.open_questions())));
        }
        let heard = tokio::select! {
            biased;
            news = self.news.next() => news.map(Heard::News),
            delta = next_of(&mut self.deltas) => delta.map(Heard::Delta),
            _ = self.beat.tick() => Some(Heard::Beat),
        };
        if !matches!(heard, Some(Heard::Beat)) {
            self.beat.reset();
        }
        Ok(heard)
    }

    async fn encode(&mut self, heard: Heard, frames: &mut Vec<u8>) -> entourage_engine::Result<()> {
        match heard {
            Heard::Hello(open_questions) => {
                let version = env!("CARGO_PKG_VERSION").to_owned();
                let assets = assets::digest().to_owned();
                frame(frames, None, "hello", &Hello { version, assets, open_questions })?;
            }
            Heard::News(news) => frames.extend_from_slice(news.encoded(encoded)),
            Heard::Delta(delta) => frame(frames, None, "delta", &views::delta(&delta))?,
            Heard::Beat => frames.extend_from_slice(b"event: beat\ndata: {}\n\n"),
        }
        Ok(())
    }
}

/// The frame of news, for all connections.
fn encoded(news: &entourage_engine::News) -> Vec<u8> {
    let mut frames = Vec::new();
    if let Err(error) = frame(&mut frames, None, "news", &views::news(news)) {
        tracing::error!(%error, "news cannot be written");
    }
    frames
}

async fn next_of(deltas: &mut Option<DeltaFeed>) -> Option<Arc<AgentDelta>> {
    match deltas {
        Some(deltas) => deltas.next().await,
        None => std::future::pending().await,
    }
}
