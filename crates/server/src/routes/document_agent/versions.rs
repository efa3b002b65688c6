//! The versions of a document: list and compare them, and bring one back.

use axum::{Json, response::IntoResponse};
use entourage_api::{Page, PageQuery, ShowDiff, UndoDocument, schema};

use super::{
    Answer, document,
    documents::tagged,
    failures::{Details, InConflict, OutOfDate},
};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IfMatch, Number},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views::{
        self,
        document_agent::{DiffView, DocumentView, VersionView},
    },
};

type VersionPage = Page<VersionView>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(list)).routes(routes!(diff)).routes(routes!(undo))
}

/// List the versions of a document, the first one first, each whole
#[utoipa::path(
    get, path = "/api/documents/{id}/versions", tag = "document agent", operation_id = "listNumberedVersions",
    params(("id" = schema::DocumentNumber, Path, description = "The document."), PageQuery),
    responses((status = 200, description = "A page of versions; it has fewer where texts are long.",
        body = VersionPage), Details)
)]
async fn list(
    caller: Caller,
    Id(Number(id)): Id<Number>,
    Filter(query): Filter<PageQuery>,
) -> Answer<VersionPage> {
    let paging = Paging::of(&query)?;
    let head = caller.client.document_numbered(id).await?;
    let read = |page| caller.client.document_versions(head.id, page);
    Ok(Json(paging.oldest_first(read, |version| VersionView::of(id, version)).await?))
}

/// Show what differs between two versions of a document
#[utoipa::path(
    get, path = "/api/documents/{id}/diff", tag = "document agent", operation_id = "diffNumberedDocument",
    params(("id" = schema::DocumentNumber, Path, description = "The document."), ShowDiff),
    responses((status = 200, description = "The differences.", body = DiffView), Details)
)]
async fn diff(
    caller: Caller,
    Id(Number(id)): Id<Number>,
    Filter(ShowDiff { from, to }): Filter<ShowDiff>,
) -> Answer<DiffView> {
    let head = caller.client.document_numbered(id).await?;
    let diff = caller.client.document_diff(head.id, from, to).await?;
    Ok(Json(DiffView::of(id, views::document_diff(diff))))
}

/// Bring back an earlier version of a document, as a new version
#[utoipa::path(
    post, path = "/api/documents/{id}/undo", tag = "document agent", operation_id = "undoNumberedDocument",
    params(("id" = schema::DocumentNumber, Path, description = "The document."), IfMatch),
    request_body = UndoDocument,
    responses(
        (status = 200, description = "The document, with its version as the `ETag`.", body = DocumentView,
         headers(("ETag" = String, description = "Its version."))),
        Details, InConflict, OutOfDate,
    )
)]
async fn undo(
    caller: Caller,
    Id(Number(id)): Id<Number>,
    IfMatch(expected): IfMatch,
    Body(UndoDocument { to }): Body<UndoDocument>,
) -> Result<impl IntoResponse, Problem> {
    let (head, project) = document(&caller.client, id).await?;
    Ok(tagged(project.number, caller.client.undo_document(head.id, to, expected).await?))
}
