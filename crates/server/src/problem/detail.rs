//! Problems as `FastAPI` writes them, for the paths that show the engine as a document agent: `{"detail": …}`.

use std::sync::Arc;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use entourage_api::Problem as Document;
use serde::Serialize;
use utoipa::ToSchema;

use super::kind;

/// A problem that was written as a problem document: an extension of its response.
pub(super) struct Refusal {
    pub(super) document: Document,
    pub(super) place: Place,
}

/// Where in its part of a request a mistake is, and of which sort.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// The names of the fields that lead to it, or the name of the parameter or the header.
    pub(super) fields: Vec<String>,
    pub(super) sort: MistakeSort,
}

/// A sort of mistake, in `FastAPI`'s words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MistakeSort {
    /// A field is not given.
    Missing,
    /// A field is unknown.
    ExtraForbidden,
    /// The text is no JSON.
    JsonInvalid,
    /// A value is not what is expected.
    #[default]
    ValueError,
}

/// Why a request failed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Detail {
    /// A sentence that says what to do.
    detail: String,
}

/// Why a request is not valid.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ValidationDetail {
    /// Each mistake.
    detail: Vec<Mistake>,
}

/// A mistake in a request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Mistake {
    /// Where it is: the part of the request, and the names of the fields that lead to it.
    loc: Vec<String>,
    /// What is wrong.
    msg: String,
    /// A stable word.
    #[serde(rename = "type")]
    sort: MistakeSort,
}

/// Writes a problem document as `FastAPI` would; every other response stays as it is.
pub(crate) async fn with_detail(response: Response) -> Response {
    let Some(refusal) = response.extensions().get::<Arc<Refusal>>().cloned() else { return response };
    let document = &refusal.document;
    let mut rendered = match mistake_of(&refusal) {
        Some(mistake) => (StatusCode::UNPROCESSABLE_ENTITY, Json(ValidationDetail { detail: vec![mistake] }))
            .into_response(),
        None => (response.status(), Json(Detail { detail: document.detail.clone() })).into_response(),
    };
    let content_type = HeaderValue::from_static("application/json");
    let (mut head, body) = (response.into_parts().0, std::mem::take(rendered.body_mut()));
    head.status = rendered.status();
    head.headers.insert(header::CONTENT_TYPE, content_type);
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, body)
}

/// The mistake that a problem reports, if it is one of the request's own: `FastAPI` answers these with 422.
fn mistake_of(Refusal { document, place }: &Refusal) -> Option<Mistake> {
    let part = match &*document.kind {
        of if of == kind::bad_path() => "path",
        of if [kind::bad_query(), kind::bad_cursor(), kind::entry_gone()].contains(&of) => "query",
        of if of == kind::bad_header() || of == kind::key_reused() => "header",
        of if of == kind::bad_json() => "body",
        _ if document.status == StatusCode::UNPROCESSABLE_ENTITY.as_u16() => "body",
        _ => return None,
    };
    let sort = if document.kind == kind::bad_json() { MistakeSort::JsonInvalid } else { place.sort };
    let loc = std::iter::once(part.to_owned()).chain(place.fields.iter().cloned()).collect();
    Some(Mistake { loc, msg: document.detail.clone(), sort })
}
