//! Projects: create, list, get, change and delete them.

use axum::{
    Json,
    http::{StatusCode, header::LOCATION},
    response::{AppendHeaders, IntoResponse},
};
use entourage_api::{ChangeProject, CreateProject, Page, PageQuery, schema};
use entourage_engine::{NewProject, ProjectChange};

use super::{
    Answer,
    failures::{Details, InConflict},
};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, Number},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views::document_agent::ProjectView,
};

type ProjectPage = Page<ProjectView>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(create, list)).routes(routes!(get, change, delete))
}

/// Create a project
#[utoipa::path(
    post, path = "/api/projects", tag = "document agent", operation_id = "createNumberedProject",
    request_body = CreateProject,
    responses(
        (status = 201, description = "The project.", body = ProjectView,
         headers(("Location" = String, description = "The path of the project."))),
        Details, InConflict,
    )
)]
async fn create(caller: Caller, Body(new): Body<CreateProject>) -> Result<impl IntoResponse, Problem> {
    let CreateProject { name, description } = new;
    let project = caller.client.create_project(NewProject { name, description }).await?;
    let location = format!("/api/projects/{}", project.number);
    Ok((StatusCode::CREATED, AppendHeaders([(LOCATION, location)]), Json(ProjectView::from(project))))
}

/// List projects, in the order of their ids
#[utoipa::path(
    get, path = "/api/projects", tag = "document agent", operation_id = "listNumberedProjects", params(PageQuery),
    responses((status = 200, description = "A page of projects.", body = ProjectPage), Details)
)]
async fn list(caller: Caller, Filter(query): Filter<PageQuery>) -> Answer<ProjectPage> {
    let paging = Paging::of(&query)?;
    Ok(Json(paging.oldest_first(|page| caller.client.projects(page), ProjectView::from).await?))
}

/// Get a project
#[utoipa::path(
    get, path = "/api/projects/{id}", tag = "document agent", operation_id = "getNumberedProject",
    params(("id" = schema::ProjectNumber, Path, description = "The project.")),
    responses((status = 200, description = "The project.", body = ProjectView), Details)
)]
async fn get(caller: Caller, Id(Number(id)): Id<Number>) -> Answer<ProjectView> {
    Ok(Json(caller.client.project_numbered(id).await?.into()))
}

/// Change the name or the description of a project
#[utoipa::path(
    put, path = "/api/projects/{id}", tag = "document agent", operation_id = "changeNumberedProject",
    params(("id" = schema::ProjectNumber, Path, description = "The project.")),
    request_body = ChangeProject,
    responses((status = 200, description = "The project.", body = ProjectView), Details, InConflict)
)]
async fn change(
    caller: Caller,
    Id(Number(id)): Id<Number>,
    Body(change): Body<ChangeProject>,
) -> Answer<ProjectView> {
    let project = caller.client.project_numbered(id).await?;
    let ChangeProject { name, description } = change;
    Ok(Json(caller.client.change_project(project.id, ProjectChange { name, description }).await?.into()))
}

/// Delete a project with its documents and their versions
#[utoipa::path(
    delete, path = "/api/projects/{id}", tag = "document agent", operation_id = "deleteNumberedProject",
    params(("id" = schema::ProjectNumber, Path, description = "The project.")),
    responses((status = 204, description = "The project is deleted."), Details)
)]
async fn delete(caller: Caller, Id(Number(id)): Id<Number>) -> Result<StatusCode, Problem> {
    let project = caller.client.project_numbered(id).await?;
    caller.client.delete_project(project.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
