//! The tasks that agents delegate to each other, and the notes that they write.

use axum::Json;
use entourage_api::{Note, Page, Task, schema};
use entourage_types::{AgentId, Status, TaskId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Answer, Failures};
use crate::{
    extract::{Caller, Filter, Id},
    page::Paging,
    state::AppState,
};

type TaskPage = Page<Task>;
type NotePage = Page<Note>;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(tasks)).routes(routes!(task)).routes(routes!(notes))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Tasks {
    /// Only tasks of the tree with this root.
    #[param(value_type = Option<schema::AgentId>)]
    root: Option<AgentId>,
    /// Only tasks in this status.
    #[param(value_type = Option<schema::Status>)]
    status: Option<Status>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// List tasks, newest first
#[utoipa::path(
    get, path = "/v1/tasks", tag = "work", operation_id = "listTasks", params(Tasks),
    responses((status = 200, description = "A page of tasks.", body = TaskPage), Failures)
)]
async fn tasks(caller: Caller, Filter(query): Filter<Tasks>) -> Answer<TaskPage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let read = |rows| caller.client.tasks(query.root, query.status, rows);
    Ok(Json(paging.read(read, |task| task.id.to_string()).await?))
}

/// Get a task
#[utoipa::path(
    get, path = "/v1/tasks/{id}", tag = "work", operation_id = "getTask",
    params(("id" = schema::TaskId, Path, description = "The task.")),
    responses((status = 200, description = "The task.", body = Task), Failures)
)]
async fn task(caller: Caller, Id(id): Id<TaskId>) -> Answer<Task> {
    Ok(Json(caller.client.task(id).await?.into()))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Notes {
    /// Only notes of the tree with this root.
    #[param(value_type = Option<schema::AgentId>)]
    root: Option<AgentId>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// List notes, newest first
#[utoipa::path(
    get, path = "/v1/notes", tag = "work", operation_id = "listNotes", params(Notes),
    responses((status = 200, description = "A page of notes.", body = NotePage), Failures)
)]
async fn notes(caller: Caller, Filter(query): Filter<Notes>) -> Answer<NotePage> {
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    let read = |rows| caller.client.notes(query.root, rows);
    Ok(Json(paging.read(read, |note| note.id.to_string()).await?))
}
