//! The chats about a project, and their messages.

use axum::Json;
use entourage_api::{Page, PageQuery, schema};

use super::{Answer, failures::Details};
use crate::{
    extract::{Caller, Filter, Id, Number},
    page::{Paging, page_of},
    routes::api_router::{ApiRouter, routes},
    views::document_agent::{MessageView, ProjectChatView},
};

type ChatPage = Page<ProjectChatView>;
type MessagePage = Page<MessageView>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(list)).routes(routes!(get)).routes(routes!(messages))
}

/// List the chats about a project, in the order of their ids
#[utoipa::path(
    get, path = "/api/projects/{id}/chats", tag = "document agent", operation_id = "listNumberedChats",
    params(("id" = schema::ProjectNumber, Path, description = "The project."), PageQuery),
    responses((status = 200, description = "A page of chats.", body = ChatPage), Details)
)]
async fn list(
    caller: Caller,
    Id(Number(id)): Id<Number>,
    Filter(query): Filter<PageQuery>,
) -> Answer<ChatPage> {
    let paging = Paging::of(&query)?;
    let project = caller.client.project_numbered(id).await?;
    let read = |page| caller.client.project_chats(project.id, page);
    Ok(Json(paging.oldest_first(read, |chat| ProjectChatView::of(id, &chat)).await?))
}

/// Get a chat about a project
#[utoipa::path(
    get, path = "/api/agent/chats/{id}", tag = "document agent", operation_id = "getNumberedChat",
    params(("id" = schema::ProjectChatNumber, Path, description = "The chat.")),
    responses((status = 200, description = "The chat.", body = ProjectChatView), Details)
)]
async fn get(caller: Caller, Id(Number(id)): Id<Number>) -> Answer<ProjectChatView> {
    let chat = caller.client.project_chat_numbered(id).await?;
    let project = caller.client.project(chat.project).await?;
    Ok(Json(ProjectChatView::of(project.number, &chat)))
}

/// List the messages of a chat, oldest first
///
/// A message is listed once its turn has come: it waits while the one before it is acted upon.
#[utoipa::path(
    get, path = "/api/agent/chats/{id}/messages", tag = "document agent", operation_id = "listNumberedMessages",
    params(("id" = schema::ProjectChatNumber, Path, description = "The chat."), PageQuery),
    responses((status = 200, description = "A page of messages.", body = MessagePage), Details)
)]
async fn messages(
    caller: Caller,
    Id(Number(id)): Id<Number>,
    Filter(query): Filter<PageQuery>,
) -> Answer<MessagePage> {
    let (after, limit) = Paging::of(&query)?.items::<u64>()?;
    let chat = caller.client.project_chat_numbered(id).await?;
    let (messages, next) = caller.client.project_messages(chat.agent, after, limit).await?;
    Ok(Json(page_of(messages.into_iter().map(|message| MessageView::of(id, message)), next)))
}
