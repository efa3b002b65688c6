//! Documents as files.

use axum::{extract::State, response::Response};
use entourage_api::schema;

use super::failures::Details;
use crate::{
    Problem,
    extract::{Caller, Id, Number},
    routes::api_router::{ApiRouter, routes},
    routes::download,
    state::AppState,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(document)).routes(routes!(project))
}

/// Export a document as a Markdown file
#[utoipa::path(
    get, path = "/api/documents/{id}/export", tag = "document agent", operation_id = "exportNumberedDocument",
    params(("id" = schema::DocumentNumber, Path, description = "The document.")),
    responses((status = 200, description = "The text.", body = String, content_type = "text/markdown"), Details)
)]
async fn document(caller: Caller, Id(Number(id)): Id<Number>) -> Result<Response, Problem> {
    let head = caller.client.document_numbered(id).await?;
    Ok(download::markdown(caller.client.export_document(head.id).await?))
}

/// Export the documents of a project as a zip archive of Markdown files
#[utoipa::path(
    get, path = "/api/projects/{id}/export", tag = "document agent", operation_id = "exportNumberedProject",
    params(("id" = schema::ProjectNumber, Path, description = "The project.")),
    responses((status = 200, description = "The archive.", body = Vec<u8>, content_type = "application/zip"), Details)
)]
async fn project(
    caller: Caller,
    Id(Number(id)): Id<Number>,
    State(served): State<AppState>,
) -> Result<Response, Problem> {
    let project = caller.client.project_numbered(id).await?;
    let (client, opened) = served.streams.open(&caller.client)?;
    Ok(download::archive(client.export_project(project.id).await?, opened))
}
