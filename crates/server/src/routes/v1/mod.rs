//! The native API. Each handler translates, calls one intent of the caller's client, and
//! translates back.

mod agents;
mod events;
mod kinds;
mod messages;
mod questions;
mod runs;
mod work;

use axum::Json;
use utoipa::IntoResponses;
use utoipa_axum::router::OpenApiRouter;

use crate::{Problem, state::Served};

/// What every handler returns.
type Answer<T> = Result<Json<T>, Problem>;

pub(crate) fn routes() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .merge(agents::routes())
        .merge(messages::routes())
        .merge(events::routes())
        .merge(runs::routes())
        .merge(questions::routes())
        .merge(work::routes())
        .merge(kinds::routes())
}

/// How any request may fail.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "says to the description what the error type says to the compiler")]
enum Failures {
    /// The path, the query, a header or the JSON is malformed.
    #[response(status = 400, content_type = "application/problem+json")]
    BadRequest(#[to_schema] Problem),
    /// There is no valid token.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(#[to_schema] Problem),
    /// There is no such thing, or it is not the caller's.
    #[response(status = 404, content_type = "application/problem+json")]
    NotFound(#[to_schema] Problem),
    /// The request makes no sense as it is.
    #[response(status = 422, content_type = "application/problem+json")]
    Unprocessable(#[to_schema] Problem),
    /// The store does not answer, or the disk is full; nothing was changed.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(#[to_schema] Problem),
}
