//! The conversation with an agent: write to the agent, read what a person sees.

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
    state::AppState,
    views::{EntryView, PostedView, schema},
};

type EntryPage = Page<EntryView>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(send, transcript))
}

/// A message to send.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct SendMessage {
    /// The text.
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

/// List the conversation with an agent as a person sees it: the latest entries, oldest first
///
/// A page has at most `limit` messages and questions, and fewer, or none, where they are long or many other
/// items are between them; earlier ones are on the next page. The first page also has the messages that the
/// agent has not read yet, beyond `limit`.
#[utoipa::path(
    get, path = "/v1/agents/{id}/messages", tag = "agents", operation_id = "listMessages",
    params(("id" = schema::AgentId, Path, description = "The agent."), PageQuery),
    responses((status = 200, description = "A page of the conversation.", body = EntryPage), Failures)
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
