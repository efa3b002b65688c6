//! The framework's rejections as problems.

use std::any::Any;

use axum::{
    extract::rejection::{BytesRejection, JsonRejection, PathRejection, QueryRejection},
    http::{Method, Uri},
    response::{IntoResponse, Response},
};

use super::Problem;
use crate::deadline::TooSlow;

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        if is_too_slow(&rejection) {
            return too_slow();
        }
        let text = rejection.body_text();
        match rejection {
            JsonRejection::JsonDataError(error) => Self::bad_body(innermost(&error)),
            JsonRejection::JsonSyntaxError(error) => Self::bad_json(innermost(&error)),
            JsonRejection::MissingJsonContentType(_) => {
                Self::bad_media_type("send the body as `Content-Type: application/json`")
            }
            _ if rejection.status().as_u16() == 413 => {
                Self::too_large("send less; long material belongs into a file that the agent can read")
            }
            _ => Self::bad_json(text),
        }
    }
}

impl From<BytesRejection> for Problem {
    fn from(rejection: BytesRejection) -> Self {
        match rejection.status().as_u16() {
            _ if is_too_slow(&rejection) => too_slow(),
            413 => Self::too_large("send less; long material belongs into a file that the agent can read"),
            _ => Self::bad_json(rejection.body_text()),
        }
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::bad_query(innermost(&rejection))
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::bad_path(rejection.body_text())
    }
}

/// Whether a body could not be read because it did not arrive in time.
fn is_too_slow(rejection: &(dyn std::error::Error + 'static)) -> bool {
    let causes = std::iter::successors(Some(rejection), |error| error.source());
    causes.into_iter().any(|error| error.is::<TooSlow>())
}

fn too_slow() -> Problem {
    Problem::too_slow("send the whole body at once, or have `server.body_timeout` raised")
}

/// The message of the first cause: what is wrong and where, without the framework's preface.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// The response for a path at which nothing is served.
pub(crate) async fn no_route(uri: Uri) -> Problem {
    Problem::unknown_route(format!("nothing is served at `{}`; GET /openapi.json lists what is", uri.path()))
}

/// The response for a method that a path does not accept.
pub(crate) async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    Problem::wrong_method(format!(
        "`{}` does not take {method}; the `Allow` header says what it takes",
        uri.path()
    ))
}

/// The response of a handler that panicked. The panic's message goes to the log only.
#[allow(clippy::needless_pass_by_value, reason = "the shape that the layer calls")]
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let said =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = said.unwrap_or("no message"), "a handler panicked");
    Problem::internal("the server's log has the cause, under this answer's x-request-id").into_response()
}
