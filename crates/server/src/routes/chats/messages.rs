//! The messages of the main chat: say something, read what was said.

use axum::{Json, extract::State, http::StatusCode};
use entourage_engine::PageEnd;
use entourage_types::{AgentId, QuestionId};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Conflict, Failures, chat};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey},
    page::{BYTES, Page, PageQuery},
    state::Served,
    views::{
        chats::{ChatMessageView, Family},
        schema,
    },
};

type ChatMessagePage = Page<ChatMessageView>;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(send, list))
}

/// What to say.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct SendChatMessage {
    /// The text.
    #[schema(min_length = 1, pattern = r"\S")]
    content: String,
}

/// Say something in a chat
#[utoipa::path(
    post, path = "/api/chats/{id}/messages", tag = "chats", operation_id = "sendChatMessage",
    params(("id" = schema::ChatId, Path, description = "The chat."), IdempotencyKey),
    request_body = SendChatMessage,
    responses(
        (status = 202, description = "The message, for the orchestrator to decide on.", body = ChatMessageView),
        Failures,
        Conflict,
    )
)]
async fn send(
    caller: Caller,
    Id(id): Id<AgentId>,
    key: IdempotencyKey,
    State(served): State<Served>,
    Body(message): Body<SendChatMessage>,
) -> Result<(StatusCode, Json<ChatMessageView>), Problem> {
    chat(&caller.client, id).await?;
    let posted = caller.client.send(id, &message.content, key.as_deref()).await?;
    let view = ChatMessageView::taken(posted, message.content, served.engine.clock().now());
    Ok((StatusCode::ACCEPTED, Json(view)))
}

/// Read the main chat: the last of it, oldest first
///
/// A page tells of at most `limit` messages and questions, and of fewer, or none, where they are long or much else
/// stands between them; what was said before is on the next one. Messages that the agent has not read yet come on top
/// of that, on the first.
#[utoipa::path(
    get, path = "/api/chats/{id}/messages", tag = "chats", operation_id = "listChatMessages",
    params(("id" = schema::ChatId, Path, description = "The chat."), PageQuery),
    responses((status = 200, description = "A page of what was said.", body = ChatMessagePage), Failures)
)]
async fn list(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<ChatMessagePage> {
    chat(&caller.client, id).await?;
    let (before, limit) = query.paging()?.items::<PageEnd<QuestionId>>()?;
    let (entries, next) = caller.client.transcript_before(id, before, limit, BYTES).await?;
    let family = Family::told_of(&caller.client, id, &entries).await?;
    let documents = entries.into_iter().map(|entry| ChatMessageView::of(id, entry, &family));
    Ok(Json(Page::of_items(documents, next)))
}
