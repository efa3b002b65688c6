//! The tasks of a chat.

use axum::Json;
use entourage_api::{Page, PageQuery, schema};
use entourage_types::{AgentId, Task, TaskId};

use super::{Answer, Failures, chat};
use crate::{
    extract::{Caller, Filter, Id},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views::chats::{ChatTaskView, TreeIndex},
};

type ChatTaskPage = Page<ChatTaskView>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(list)).routes(routes!(get))
}

/// List the tasks of a chat, newest first
#[utoipa::path(
    get, path = "/api/chats/{id}/tasks", tag = "chats", operation_id = "listChatTasks",
    params(("id" = schema::ChatId, Path, description = "The chat."), PageQuery),
    responses((status = 200, description = "A page of tasks.", body = ChatTaskPage), Failures)
)]
async fn list(caller: Caller, Id(id): Id<AgentId>, Filter(query): Filter<PageQuery>) -> Answer<ChatTaskPage> {
    chat(&caller.client, id).await?;
    let read = |rows| caller.client.tasks(Some(id), None, rows);
    let page: Page<Task> = Paging::of(&query)?.read(read, |task: &Task| task.id.to_string()).await?;
    let tree = TreeIndex::with(&caller.client, id, Vec::new()).await?;
    let data = page.data.into_iter().map(|task| ChatTaskView::of(task, &tree)).collect();
    Ok(Json(Page { data, next_cursor: page.next_cursor }))
}

/// Get a task
#[utoipa::path(
    get, path = "/api/tasks/{id}", tag = "chats", operation_id = "getChatTask",
    params(("id" = schema::TaskId, Path, description = "The task.")),
    responses((status = 200, description = "The task.", body = ChatTaskView), Failures)
)]
async fn get(caller: Caller, Id(id): Id<TaskId>) -> Answer<ChatTaskView> {
    let task = caller.client.task(id).await?;
    let tree = TreeIndex::with(&caller.client, task.root, Vec::new()).await?;
    Ok(Json(ChatTaskView::of(task, &tree)))
}
