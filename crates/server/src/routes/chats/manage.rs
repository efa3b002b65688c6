//! Chats: create, list, get and delete.

use axum::{
    Json,
    http::{StatusCode, header::LOCATION},
    response::{AppendHeaders, IntoResponse},
};
use entourage_api::{Page, PageQuery, schema};
use entourage_engine::NewAgent;
use entourage_types::{Action, AgentId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{Answer, Conflict, Failures, ORCHESTRATOR, chat};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IdempotencyKey},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views::chats::ChatView,
};

type ChatPage = Page<ChatView>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(create, list)).routes(routes!(get, delete))
}

/// A chat to begin.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct CreateChat {
    /// What the chat is about, in a few words; by default the beginning of the message.
    #[schema(max_length = 255)]
    title: Option<String>,
    /// The first message; the orchestrator decides on it at once.
    #[schema(min_length = 1, pattern = r"\S")]
    message: Option<String>,
}

/// Begin a chat
#[utoipa::path(
    post, path = "/api/chats", tag = "chats", operation_id = "createChat",
    params(IdempotencyKey),
    request_body = CreateChat,
    responses(
        (status = 201, description = "The chat.", body = ChatView,
         headers(("Location" = String, description = "The path of the chat."))),
        Failures,
    )
)]
async fn create(
    caller: Caller,
    key: IdempotencyKey,
    Body(new): Body<CreateChat>,
) -> Result<impl IntoResponse, Problem> {
    let CreateChat { title, message } = new;
    let new = NewAgent { kind: Some(ORCHESTRATOR.to_owned()), title, message, parent: None };
    let agent = caller.client.create(new, key.as_deref()).await?;
    let location = format!("/api/chats/{}", agent.id);
    Ok((StatusCode::CREATED, AppendHeaders([(LOCATION, location)]), Json(ChatView::from(agent))))
}

/// List chats, newest first
#[utoipa::path(
    get, path = "/api/chats", tag = "chats", operation_id = "listChats", params(PageQuery),
    responses((status = 200, description = "A page of chats.", body = ChatPage), Failures)
)]
async fn list(caller: Caller, Filter(query): Filter<PageQuery>) -> Answer<ChatPage> {
    let paging = Paging::of(&query)?;
    let read = |rows| caller.client.roots_of(ORCHESTRATOR, rows);
    Ok(Json(paging.read(read, |chat| chat.id.to_string()).await?))
}

/// Get a chat
#[utoipa::path(
    get, path = "/api/chats/{id}", tag = "chats", operation_id = "getChat",
    params(("id" = schema::ChatId, Path, description = "The chat.")),
    responses((status = 200, description = "The chat.", body = ChatView), Failures)
)]
async fn get(caller: Caller, Id(id): Id<AgentId>) -> Answer<ChatView> {
    Ok(Json(chat(&caller.client, id).await?.into()))
}

/// Delete a chat: its orchestrator and all its sub-agents end for good
///
/// Its messages, tasks and tool calls stay readable.
#[utoipa::path(
    delete, path = "/api/chats/{id}", tag = "chats", operation_id = "deleteChat",
    params(("id" = schema::ChatId, Path, description = "The chat.")),
    responses((status = 204, description = "The chat is deleted."), Conflict, Failures)
)]
async fn delete(caller: Caller, Id(id): Id<AgentId>) -> Result<StatusCode, Problem> {
    chat(&caller.client, id).await?;
    caller.client.intervene(id, Action::Delete, None).await?;
    Ok(StatusCode::NO_CONTENT)
}
