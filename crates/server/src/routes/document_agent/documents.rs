//! The documents of a project: create, list, find, get, change and delete them.

use axum::{
    Json,
    http::{
        StatusCode,
        header::{ETAG, LOCATION},
    },
    response::{AppendHeaders, IntoResponse},
};
use entourage_api::{ChangeDocument, CreateDocument, List, Page, PageQuery, SearchDocuments, schema};
use entourage_engine::{DocumentChange, Page as Rows};
use entourage_types::{Document, NewDocument};

use super::{
    Answer, document,
    failures::{Details, InConflict, OutOfDate},
};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IfMatch, IfMatchAny, Number},
    page::{Paging, checked_found, checked_words},
    problem::etag,
    routes::api_router::{ApiRouter, routes},
    views::document_agent::{DocumentHeadView, DocumentView, FoundDocumentView},
};

type DocumentPage = Page<DocumentHeadView>;
type FoundList = List<FoundDocumentView>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(search))
        .routes(routes!(get, change, delete))
}

/// A document with its version as the `ETag`, of the project with this number.
pub(super) fn tagged(project: u64, document: Document) -> impl IntoResponse {
    (AppendHeaders([(ETAG, etag(document.head.version))]), Json(DocumentView::of(project, document)))
}

/// Create a document in a project
#[utoipa::path(
    post, path = "/api/projects/{id}/documents", tag = "document agent", operation_id = "createNumberedDocument",
    params(("id" = schema::ProjectNumber, Path, description = "The project.")),
    request_body = CreateDocument,
    responses(
        (status = 201, description = "The document, with its version as the `ETag`.", body = DocumentView,
         headers(("Location" = String, description = "The path of the document."),
                 ("ETag" = String, description = "Its version."))),
        Details, InConflict,
    )
)]
async fn create(
    caller: Caller,
    Id(Number(id)): Id<Number>,
    Body(new): Body<CreateDocument>,
) -> Result<impl IntoResponse, Problem> {
    let project = caller.client.project_numbered(id).await?;
    let CreateDocument { name, content, standing_instruction, summary } = new;
    let new = NewDocument { project: project.id, name, standing_instruction, content, summary };
    let document = caller.client.create_document(new).await?;
    let location = format!("/api/documents/{}", document.head.number);
    Ok((StatusCode::CREATED, AppendHeaders([(LOCATION, location)]), tagged(id, document)))
}

/// List the documents of a project, in the order of their ids, without their texts
#[utoipa::path(
    get, path = "/api/projects/{id}/documents", tag = "document agent", operation_id = "listNumberedDocuments",
    params(("id" = schema::ProjectNumber, Path, description = "The project."), PageQuery),
    responses((status = 200, description = "A page of documents.", body = DocumentPage), Details)
)]
async fn list(
    caller: Caller,
    Id(Number(id)): Id<Number>,
    Filter(query): Filter<PageQuery>,
) -> Answer<DocumentPage> {
    let paging = Paging::of(&query)?;
    let project = caller.client.project_numbered(id).await?;
    let read = |page| caller.client.document_heads(project.id, page);
    Ok(Json(paging.oldest_first(read, |head| DocumentHeadView::of(id, head)).await?))
}

/// Find documents of a project by words, the best match first
#[utoipa::path(
    get, path = "/api/projects/{id}/search", tag = "document agent", operation_id = "searchNumberedDocuments",
    params(("id" = schema::ProjectNumber, Path, description = "The project."), SearchDocuments),
    responses((status = 200, description = "The documents, at most 50.", body = FoundList), Details)
)]
async fn search(
    caller: Caller,
    Id(Number(id)): Id<Number>,
    Filter(SearchDocuments { text, limit }): Filter<SearchDocuments>,
) -> Answer<FoundList> {
    checked_words(&text)?;
    let page = Rows { limit: checked_found(limit)?, ..Rows::default() };
    let project = caller.client.project_numbered(id).await?;
    let found = caller.client.search_documents(project.id, &text, page).await?;
    Ok(Json(found.into_iter().map(|found| FoundDocumentView::of(id, found)).collect()))
}

/// Get a document
#[utoipa::path(
    get, path = "/api/documents/{id}", tag = "document agent", operation_id = "getNumberedDocument",
    params(("id" = schema::DocumentNumber, Path, description = "The document.")),
    responses(
        (status = 200, description = "The document, with its version as the `ETag`.", body = DocumentView,
         headers(("ETag" = String, description = "Its version."))),
        Details,
    )
)]
async fn get(caller: Caller, Id(Number(id)): Id<Number>) -> Result<impl IntoResponse, Problem> {
    let (head, project) = document(&caller.client, id).await?;
    Ok(tagged(project.number, caller.client.document(head.id).await?))
}

/// Change the name, the text or the standing instruction of a document: a new version of it
///
/// A change that changes nothing makes no version.
#[utoipa::path(
    put, path = "/api/documents/{id}", tag = "document agent", operation_id = "changeNumberedDocument",
    params(("id" = schema::DocumentNumber, Path, description = "The document."), IfMatch),
    request_body = ChangeDocument,
    responses(
        (status = 200, description = "The document, with its version as the `ETag`.", body = DocumentView,
         headers(("ETag" = String, description = "Its version."))),
        Details, InConflict, OutOfDate,
    )
)]
async fn change(
    caller: Caller,
    Id(Number(id)): Id<Number>,
    IfMatch(expected): IfMatch,
    Body(change): Body<ChangeDocument>,
) -> Result<impl IntoResponse, Problem> {
    let (head, project) = document(&caller.client, id).await?;
    let ChangeDocument { name, content, standing_instruction, summary } = change;
    let change = DocumentChange { name, content, standing_instruction, summary };
    Ok(tagged(project.number, caller.client.change_document(head.id, change, expected).await?))
}

/// Delete a document with all its versions
#[utoipa::path(
    delete, path = "/api/documents/{id}", tag = "document agent", operation_id = "deleteNumberedDocument",
    params(("id" = schema::DocumentNumber, Path, description = "The document."), IfMatchAny),
    responses((status = 204, description = "The document is deleted."), Details, OutOfDate)
)]
async fn delete(
    caller: Caller,
    Id(Number(id)): Id<Number>,
    IfMatchAny(expected): IfMatchAny,
) -> Result<StatusCode, Problem> {
    let head = caller.client.document_numbered(id).await?;
    caller.client.delete_document(head.id, expected).await?;
    Ok(StatusCode::NO_CONTENT)
}
