//! The tasks of a chat.

use axum::Json;
use entourage_types::{AgentId, TaskId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures, chat};
use crate::{
    extract::{Caller, Filter, Id},
    page::{Page, Paging},
    state::Served,
    views::{
        chats::{ChatTaskView, Family},
        schema,
    },
};

type ChatTaskPage = Page<ChatTaskView>;

pub(super) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(get))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ChatTasks {
    /// How many; 50 unless given.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List the tasks of a chat, newest first
#[utoipa::path(
    get, path = "/api/chats/{id}/tasks", tag = "chats", operation_id = "listChatTasks",
    params(("id" = schema::ChatId, Path, description = "The chat."), ChatTasks),
    responses((status = 200, description = "A page of tasks.", body = ChatTaskPage), Failures)
)]
async fn list(caller: Caller, Id(id): Id<AgentId>, Filter(query): Filter<ChatTasks>) -> Answer<ChatTaskPage> {
    chat(&caller.client, id).await?;
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let found = caller.client.tasks(Some(id), None, paging.query()).await?;
    let family = Family::read(&caller.client, id).await?;
    let page = paging.page(found, |task| task.id.to_string());
    Ok(Json(page.map(|task| ChatTaskView::of(task, &family))))
}

/// Get a task
#[utoipa::path(
    get, path = "/api/tasks/{id}", tag = "chats", operation_id = "getChatTask",
    params(("id" = schema::TaskId, Path, description = "The task.")),
    responses((status = 200, description = "The task.", body = ChatTaskView), Failures)
)]
async fn get(caller: Caller, Id(id): Id<TaskId>) -> Answer<ChatTaskView> {
    let task = caller.client.task(id).await?;
    let family = Family::read(&caller.client, task.root).await?;
    Ok(Json(ChatTaskView::of(task, &family)))
}
