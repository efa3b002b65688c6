//! The tasks that agents delegate to each other, and the notes that they write.

use axum::Json;
use entourage_api::{ListNotes, ListTasks, Note, Page, Task, schema};
use entourage_types::TaskId;

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Filter, Id},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
};

type TaskPage = Page<Task>;
type NotePage = Page<Note>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(tasks)).routes(routes!(task)).routes(routes!(notes))
}

/// List tasks, newest first
///
/// Where few of a tree's many tasks are in the status, a page has fewer entries, or none; the next page goes on from
/// there.
#[utoipa::path(
    get, path = "/v1/tasks", tag = "work", operation_id = "listTasks", params(ListTasks),
    responses((status = 200, description = "A page of tasks.", body = TaskPage), Failures)
)]
pub(crate) async fn tasks(caller: Caller, Filter(query): Filter<ListTasks>) -> Answer<TaskPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    Ok(Json(paging.narrowed(|page| caller.client.find_tasks(query.root, query.status, page)).await?))
}

/// Get a task
#[utoipa::path(
    get, path = "/v1/tasks/{id}", tag = "work", operation_id = "getTask",
    params(("id" = schema::TaskId, Path, description = "The task.")),
    responses((status = 200, description = "The task.", body = Task), Failures)
)]
pub(crate) async fn task(caller: Caller, Id(id): Id<TaskId>) -> Answer<Task> {
    Ok(Json(caller.client.task(id).await?.into()))
}

/// List notes, newest first
///
/// With words that few of many notes have, a page has fewer entries, or none; the next page goes on from there.
#[utoipa::path(
    get, path = "/v1/notes", tag = "work", operation_id = "listNotes", params(ListNotes),
    responses((status = 200, description = "A page of notes.", body = NotePage), Failures)
)]
pub(crate) async fn notes(caller: Caller, Filter(query): Filter<ListNotes>) -> Answer<NotePage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    Ok(Json(paging.narrowed(|page| caller.client.find_notes(query.root, query.text, page)).await?))
}
