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
    /// Where in the body the mistake is.
    pub(super) place: Vec<String>,
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
    sort: &'static str,
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
    let (part, sort) = match &*document.kind {
        of if of == kind::bad_path() => ("path", "value_error"),
        of if of == kind::bad_query() || of == kind::bad_cursor() => ("query", "value_error"),
        of if of == kind::bad_header() || of == kind::key_reused() => ("header", "value_error"),
        of if of == kind::bad_json() => ("body", "json_invalid"),
        _ if document.status == StatusCode::UNPROCESSABLE_ENTITY.as_u16() => ("body", "value_error"),
        _ => return None,
    };
    // Serde says which field is missing or unknown in words only.
    let quoted = |begin: &str| Some(document.detail.strip_prefix(begin)?.split_once('`')?.0.to_owned());
    let (sort, field) = match (quoted("missing field `"), quoted("unknown field `")) {
        (Some(missing), _) => ("missing", Some(missing)),
        (_, Some(unknown)) => ("extra_forbidden", Some(unknown)),
        _ => (sort, None),
    };
    let loc = std::iter::once(part.to_owned()).chain(place.iter().cloned());
    // The path of an unknown field may have it already.
    let field = field.filter(|field| place.last() != Some(field));
    Some(Mistake { loc: loc.chain(field).collect(), msg: document.detail.clone(), sort })
}
