//! The messages of the main chat: say something, read what was said.

use axum::{Json, extract::State, http::StatusCode};
use entourage_types::AgentId;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Conflict, Failures, chat};
use crate::{
    Problem,
    extract::{Body, Caller, Id, IdempotencyKey},
    page::List,
    state::Served,
    views::{
        chats::{ChatMessageView, Family},
        schema,
    },
};

type ChatMessageList = List<ChatMessageView>;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(send, list))
}

/// What to say.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct SendChatMessage {
    /// The text.
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
    let view = ChatMessageView::taken(posted, message.content, served.house.clock().now());
    Ok((StatusCode::ACCEPTED, Json(view)))
}

/// Read the main chat, oldest first
#[utoipa::path(
    get, path = "/api/chats/{id}/messages", tag = "chats", operation_id = "listChatMessages",
    params(("id" = schema::ChatId, Path, description = "The chat.")),
    responses((status = 200, description = "All that was said.", body = ChatMessageList), Failures)
)]
async fn list(caller: Caller, Id(id): Id<AgentId>) -> Answer<ChatMessageList> {
    chat(&caller.client, id).await?;
    let entries = caller.client.transcript(id).await?;
    let family = Family::read(&caller.client, id).await?;
    let documents = entries.into_iter().map(|entry| ChatMessageView::of(id, entry, &family));
    Ok(Json(List::of(documents)))
}
