//! Projects: create, list, change and delete them; their chats, and their documents as an archive.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header::LOCATION},
    response::{AppendHeaders, IntoResponse, Response},
};
use entourage_api::{ChangeProject, CreateProject, Page, PageQuery, Project, ProjectChat, schema};
use entourage_engine::{NewProject, ProjectChange};
use entourage_types::ProjectId;

use super::{Answer, Conflict, Failures};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    routes::download,
    state::AppState,
};

type ProjectPage = Page<Project>;
type ProjectChatPage = Page<ProjectChat>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, change, delete))
        .routes(routes!(chats))
        .routes(routes!(export))
}

/// Create a project
#[utoipa::path(
    post, path = "/v1/projects", tag = "documents", operation_id = "createProject", request_body = CreateProject,
    responses(
        (status = 201, description = "The project.", body = Project,
         headers(("Location" = String, description = "The path of the project."))),
        Failures, Conflict,
    )
)]
async fn create(caller: Caller, Body(new): Body<CreateProject>) -> Result<impl IntoResponse, Problem> {
    let project = created(&caller, new).await?;
    let location = format!("/v1/projects/{}", project.id);
    Ok((StatusCode::CREATED, AppendHeaders([(LOCATION, location)]), Json(project)))
}

/// Creates a project.
pub(crate) async fn created(caller: &Caller, new: CreateProject) -> Result<Project, Problem> {
    let CreateProject { name, description } = new;
    Ok(caller.client.create_project(NewProject { name, description }).await?.into())
}

/// List projects, newest first
#[utoipa::path(
    get, path = "/v1/projects", tag = "documents", operation_id = "listProjects", params(PageQuery),
    responses((status = 200, description = "A page of projects.", body = ProjectPage), Failures)
)]
pub(crate) async fn list(caller: Caller, Filter(query): Filter<PageQuery>) -> Answer<ProjectPage> {
    Ok(Json(Paging::of(&query)?.narrowed(|page| caller.client.projects(page)).await?))
}

/// Get a project
#[utoipa::path(
    get, path = "/v1/projects/{id}", tag = "documents", operation_id = "getProject",
    params(("id" = schema::ProjectId, Path, description = "The project.")),
    responses((status = 200, description = "The project.", body = Project), Failures)
)]
pub(crate) async fn get(caller: Caller, Id(id): Id<ProjectId>) -> Answer<Project> {
    Ok(Json(caller.client.project(id).await?.into()))
}

/// Change the name or the description of a project
#[utoipa::path(
    put, path = "/v1/projects/{id}", tag = "documents", operation_id = "changeProject",
    params(("id" = schema::ProjectId, Path, description = "The project.")),
    request_body = ChangeProject,
    responses((status = 200, description = "The project.", body = Project), Failures, Conflict)
)]
pub(crate) async fn change(
    caller: Caller,
    Id(id): Id<ProjectId>,
    Body(change): Body<ChangeProject>,
) -> Answer<Project> {
    let ChangeProject { name, description } = change;
    Ok(Json(caller.client.change_project(id, ProjectChange { name, description }).await?.into()))
}

/// Delete a project with its documents and their versions
#[utoipa::path(
    delete, path = "/v1/projects/{id}", tag = "documents", operation_id = "deleteProject",
    params(("id" = schema::ProjectId, Path, description = "The project.")),
    responses((status = 204, description = "The project is deleted."), Failures)
)]
async fn delete(caller: Caller, Id(id): Id<ProjectId>) -> Result<StatusCode, Problem> {
    caller.client.delete_project(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the chats about a project, newest first
///
/// Each is an agent: `/v1/agents/{id}/messages` has what was said.
#[utoipa::path(
    get, path = "/v1/projects/{id}/chats", tag = "documents", operation_id = "listProjectChats",
    params(("id" = schema::ProjectId, Path, description = "The project."), PageQuery),
    responses((status = 200, description = "A page of chats.", body = ProjectChatPage), Failures)
)]
async fn chats(
    caller: Caller,
    Id(id): Id<ProjectId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<ProjectChatPage> {
    Ok(Json(Paging::of(&query)?.narrowed(|page| caller.client.project_chats(id, page)).await?))
}

/// Export the documents of a project as a zip archive of Markdown files
#[utoipa::path(
    get, path = "/v1/projects/{id}/export", tag = "documents", operation_id = "exportProject",
    params(("id" = schema::ProjectId, Path, description = "The project.")),
    responses((status = 200, description = "The archive.", body = Vec<u8>, content_type = "application/zip"), Failures)
)]
async fn export(
    caller: Caller,
    Id(id): Id<ProjectId>,
    State(served): State<AppState>,
) -> Result<Response, Problem> {
    let (client, opened) = served.streams.open(&caller.client)?;
    Ok(download::archive(client.export_project(id).await?, opened))
}
