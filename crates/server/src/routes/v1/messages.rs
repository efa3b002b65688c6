//! The conversation with an agent: write to it, read what a person sees of it.

use axum::{Json, http::StatusCode};
use entourage_engine::PageEnd;
use entourage_types::{AgentId, QuestionId};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey},
    page::{BYTES, Page, PageQuery},
    state::Served,
    views::{EntryView, PostedView, schema},
};

type EntryPage = Page<EntryView>;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(send, transcript))
}

/// What to say.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct SendMessage {
    /// What to say.
    #[serde(alias = "text")]
    #[schema(min_length = 1, pattern = r"\S")]
    message: String,
}

/// Write to an agent, at work or not
#[utoipa::path(
    post, path = "/v1/agents/{id}/messages", tag = "agents", operation_id = "sendMessage",
    params(
        ("id" = schema::AgentId, Path, description = "The agent."),
        IdempotencyKey,
    ),
    request_body = SendMessage,
    responses(
        (status = 202, description = "The agent reads it before its next model call.", body = PostedView),
        Failures,
        Conflict,
    )
)]
async fn send(
    caller: Caller,
    Id(id): Id<AgentId>,
    key: IdempotencyKey,
    Body(said): Body<SendMessage>,
) -> Result<(StatusCode, Json<PostedView>), Problem> {
    let posted = caller.client.send(id, &said.message, key.as_deref()).await?;
    Ok((StatusCode::ACCEPTED, Json(posted.into())))
}

/// Read the conversation with an agent as a person sees it: the last of it, oldest first
///
/// A page tells of at most `limit` messages and questions, and of fewer, or none, where they are long or much else
/// stands between them; what was said before is on the next one. Messages that the agent has not read yet come on top
/// of that, on the first.
#[utoipa::path(
    get, path = "/v1/agents/{id}/messages", tag = "agents", operation_id = "listMessages",
    params(("id" = schema::AgentId, Path, description = "The agent."), PageQuery),
    responses((status = 200, description = "A page of what was said.", body = EntryPage), Failures)
)]
async fn transcript(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<EntryPage> {
    let (before, limit) = query.paging()?.items::<PageEnd<QuestionId>>()?;
    let (entries, next) = caller.client.transcript_before(id, before, limit, BYTES).await?;
    Ok(Json(Page::of_items(entries.into_iter().map(EntryView::from), next)))
}
