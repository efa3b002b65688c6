//! The messages of the main chat: send one, list them.

use axum::{Json, extract::State, http::StatusCode};
use entourage_api::{Page, PageQuery, schema};
use entourage_engine::PageEnd;
use entourage_types::{AgentId, QuestionId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Answer, Conflict, Failures, chat};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey},
    page::{BYTES, Paging, page_of},
    routes::api_router::{ApiRouter, routes},
    state::AppState,
    views::chats::{ChatMessageView, TreeIndex},
};

type ChatMessagePage = Page<ChatMessageView>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(send, list))
}

/// A message to send.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct SendChatMessage {
    /// The text.
    #[schema(min_length = 1, pattern = r"\S")]
    content: String,
}

/// Send a message to a chat
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
    State(served): State<AppState>,
    Body(message): Body<SendChatMessage>,
) -> Result<(StatusCode, Json<ChatMessageView>), Problem> {
    chat(&caller.client, id).await?;
    let posted = caller.client.send(id, &message.content, key.as_deref()).await?;
    let view = ChatMessageView::taken(posted, message.content, served.engine.clock().now());
    Ok((StatusCode::ACCEPTED, Json(view)))
}

/// List the messages of the main chat: the latest ones, oldest first
///
/// A page has at most `limit` messages and questions, and fewer, or none, where they are long or many other
/// items are between them; earlier ones are on the next page. The first page also has the messages that the
/// agent has not read yet, beyond `limit`.
#[utoipa::path(
    get, path = "/api/chats/{id}/messages", tag = "chats", operation_id = "listChatMessages",
    params(("id" = schema::ChatId, Path, description = "The chat."), PageQuery),
    responses((status = 200, description = "A page of messages.", body = ChatMessagePage), Failures)
)]
async fn list(
    caller: Caller,
    Id(id): Id<AgentId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<ChatMessagePage> {
    chat(&caller.client, id).await?;
    let (before, limit) = Paging::of(&query)?.items::<PageEnd<QuestionId>>()?;
    let (entries, next) = caller.client.transcript_before(id, before, limit, BYTES).await?;
    let tree = TreeIndex::of_entries(&caller.client, id, &entries).await?;
    let documents = entries.into_iter().map(|entry| ChatMessageView::of(id, entry, &tree));
    Ok(Json(page_of(documents, next)))
}
