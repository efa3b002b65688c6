//! The versions of a document: list, read, compare them, and bring one back.

use axum::{Json, response::IntoResponse};
use entourage_api::{
    Document, DocumentDiff, DocumentVersion, Page, PageQuery, ShowDiff, UndoDocument, schema,
};
use entourage_types::DocumentId;

use super::{Answer, Conflict, Failures, Stale, documents::tagged};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, Ids, IfMatch, Number},
    page::Paging,
    routes::api_router::{ApiRouter, routes},
    views,
};

type DocumentVersionPage = Page<DocumentVersion>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new().routes(routes!(list)).routes(routes!(get)).routes(routes!(diff)).routes(routes!(undo))
}

/// List the versions of a document, newest first, each whole
#[utoipa::path(
    get, path = "/v1/documents/{id}/versions", tag = "documents", operation_id = "listDocumentVersions",
    params(("id" = schema::DocumentId, Path, description = "The document."), PageQuery),
    responses((status = 200, description = "A page of versions; it has fewer where texts are long.",
        body = DocumentVersionPage), Failures)
)]
pub(crate) async fn list(
    caller: Caller,
    Id(id): Id<DocumentId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<DocumentVersionPage> {
    Ok(Json(Paging::of(&query)?.narrowed(|page| caller.client.document_versions(id, page)).await?))
}

/// Get a version of a document
#[utoipa::path(
    get, path = "/v1/documents/{id}/versions/{number}", tag = "documents", operation_id = "getDocumentVersion",
    params(
        ("id" = schema::DocumentId, Path, description = "The document."),
        ("number" = u64, Path, description = "The number of the version.", minimum = 1),
    ),
    responses((status = 200, description = "The version.", body = DocumentVersion), Failures)
)]
pub(crate) async fn get(
    caller: Caller,
    Ids(id, Number(number)): Ids<DocumentId, Number>,
) -> Answer<DocumentVersion> {
    Ok(Json(caller.client.document_version(id, number).await?.into()))
}

/// Show what differs between two versions of a document
#[utoipa::path(
    get, path = "/v1/documents/{id}/diff", tag = "documents", operation_id = "diffDocument",
    params(("id" = schema::DocumentId, Path, description = "The document."), ShowDiff),
    responses((status = 200, description = "The differences.", body = DocumentDiff), Failures)
)]
pub(crate) async fn diff(
    caller: Caller,
    Id(id): Id<DocumentId>,
    Filter(ShowDiff { from, to }): Filter<ShowDiff>,
) -> Answer<DocumentDiff> {
    Ok(Json(views::document_diff(caller.client.document_diff(id, from, to).await?)))
}

/// Bring back an earlier version of a document, as a new version
#[utoipa::path(
    post, path = "/v1/documents/{id}/undo", tag = "documents", operation_id = "undoDocument",
    params(("id" = schema::DocumentId, Path, description = "The document."), IfMatch),
    request_body = UndoDocument,
    responses(
        (status = 200, description = "The document, with its version as the `ETag`.", body = Document,
         headers(("ETag" = String, description = "Its version."))),
        Failures, Conflict, Stale,
    )
)]
async fn undo(
    caller: Caller,
    Id(id): Id<DocumentId>,
    IfMatch(expected): IfMatch,
    Body(UndoDocument { to }): Body<UndoDocument>,
) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(caller.client.undo_document(id, to, expected).await?))
}
