//! The documents of a project: create, list, find, read, change and delete them.

use axum::{
    Json,
    http::{
        StatusCode,
        header::{ETAG, LOCATION},
    },
    response::{AppendHeaders, IntoResponse, Response},
};
use entourage_api::{
    ChangeDocument, CreateDocument, Document, DocumentHead, FoundDocument, List, Page, PageQuery,
    SearchDocuments, schema,
};
use entourage_engine::{DocumentChange, Page as Rows};
use entourage_types::{self as types, DocumentId, NewDocument, ProjectId};

use super::{Answer, Conflict, Failures, Stale};
use crate::{
    Problem,
    extract::{Body, Caller, Filter, Id, IfMatch, IfMatchAny},
    page::{Paging, checked_found, checked_words},
    problem::etag,
    routes::api_router::{ApiRouter, routes},
    routes::download,
    views,
};

type DocumentHeadPage = Page<DocumentHead>;
type FoundDocumentList = List<FoundDocument>;

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(search))
        .routes(routes!(get, change, delete))
        .routes(routes!(export))
}

/// A document with its version as the `ETag`.
pub(super) fn tagged(document: types::Document) -> impl IntoResponse {
    (AppendHeaders([(ETAG, etag(document.head.version))]), Json(Document::from(document)))
}

/// Create a document in a project
#[utoipa::path(
    post, path = "/v1/projects/{id}/documents", tag = "documents", operation_id = "createDocument",
    params(("id" = schema::ProjectId, Path, description = "The project.")),
    request_body = CreateDocument,
    responses(
        (status = 201, description = "The document, with its version as the `ETag`.", body = Document,
         headers(("Location" = String, description = "The path of the document."),
                 ("ETag" = String, description = "Its version."))),
        Failures, Conflict,
    )
)]
async fn create(
    caller: Caller,
    Id(project): Id<ProjectId>,
    Body(new): Body<CreateDocument>,
) -> Result<impl IntoResponse, Problem> {
    let document = created(&caller, project, new).await?;
    let location = format!("/v1/documents/{}", document.head.id);
    Ok((StatusCode::CREATED, AppendHeaders([(LOCATION, location)]), tagged(document)))
}

/// Creates a document.
pub(crate) async fn created(
    caller: &Caller,
    project: ProjectId,
    new: CreateDocument,
) -> Result<types::Document, Problem> {
    let CreateDocument { name, content, standing_instruction, summary } = new;
    let new = NewDocument { project, name, standing_instruction, content, summary };
    Ok(caller.client.create_document(new).await?)
}

/// List the documents of a project, newest first, without their texts
#[utoipa::path(
    get, path = "/v1/projects/{id}/documents", tag = "documents", operation_id = "listDocuments",
    params(("id" = schema::ProjectId, Path, description = "The project."), PageQuery),
    responses((status = 200, description = "A page of documents.", body = DocumentHeadPage), Failures)
)]
pub(crate) async fn list(
    caller: Caller,
    Id(project): Id<ProjectId>,
    Filter(query): Filter<PageQuery>,
) -> Answer<DocumentHeadPage> {
    Ok(Json(Paging::of(&query)?.narrowed(|page| caller.client.document_heads(project, page)).await?))
}

/// Find documents of a project by words, the best match first
#[utoipa::path(
    get, path = "/v1/projects/{id}/search", tag = "documents", operation_id = "searchDocuments",
    params(("id" = schema::ProjectId, Path, description = "The project."), SearchDocuments),
    responses((status = 200, description = "The documents, at most 50.", body = FoundDocumentList), Failures)
)]
async fn search(
    caller: Caller,
    Id(project): Id<ProjectId>,
    Filter(SearchDocuments { text, limit }): Filter<SearchDocuments>,
) -> Answer<FoundDocumentList> {
    checked_words(&text)?;
    let page = Rows { limit: checked_found(limit)?, ..Rows::default() };
    let found = caller.client.search_documents(project, &text, page).await?;
    Ok(Json(found.into_iter().map(views::found_document).collect()))
}

/// Get a document
#[utoipa::path(
    get, path = "/v1/documents/{id}", tag = "documents", operation_id = "getDocument",
    params(("id" = schema::DocumentId, Path, description = "The document.")),
    responses(
        (status = 200, description = "The document, with its version as the `ETag`.", body = Document,
         headers(("ETag" = String, description = "Its version."))),
        Failures,
    )
)]
async fn get(caller: Caller, Id(id): Id<DocumentId>) -> Result<impl IntoResponse, Problem> {
    Ok(tagged(caller.client.document(id).await?))
}

/// Change the name, the text or the standing instruction of a document: a new version of it
///
/// A change that changes nothing makes no version.
#[utoipa::path(
    put, path = "/v1/documents/{id}", tag = "documents", operation_id = "changeDocument",
    params(("id" = schema::DocumentId, Path, description = "The document."), IfMatch),
    request_body = ChangeDocument,
    responses(
        (status = 200, description = "The document, with its version as the `ETag`.", body = Document,
         headers(("ETag" = String, description = "Its version."))),
        Failures, Conflict, Stale,
    )
)]
pub(crate) async fn change(
    caller: Caller,
    Id(id): Id<DocumentId>,
    IfMatch(expected): IfMatch,
    Body(change): Body<ChangeDocument>,
) -> Result<impl IntoResponse, Problem> {
    let ChangeDocument { name, content, standing_instruction, summary } = change;
    let change = DocumentChange { name, content, standing_instruction, summary };
    Ok(tagged(caller.client.change_document(id, change, expected).await?))
}

/// Delete a document with all its versions
#[utoipa::path(
    delete, path = "/v1/documents/{id}", tag = "documents", operation_id = "deleteDocument",
    params(("id" = schema::DocumentId, Path, description = "The document."), IfMatchAny),
    responses((status = 204, description = "The document is deleted."), Failures, Stale)
)]
async fn delete(
    caller: Caller,
    Id(id): Id<DocumentId>,
    IfMatchAny(expected): IfMatchAny,
) -> Result<StatusCode, Problem> {
    caller.client.delete_document(id, expected).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Export a document as a Markdown file
#[utoipa::path(
    get, path = "/v1/documents/{id}/export", tag = "documents", operation_id = "exportDocument",
    params(("id" = schema::DocumentId, Path, description = "The document.")),
    responses((status = 200, description = "The text.", body = String, content_type = "text/markdown"), Failures)
)]
async fn export(caller: Caller, Id(id): Id<DocumentId>) -> Result<Response, Problem> {
    Ok(download::markdown(caller.client.export_document(id).await?))
}
