//! The framework's rejections as problems.

use std::any::Any;

use axum::{
    extract::rejection::{BytesRejection, JsonRejection, PathRejection, QueryRejection},
    http::{Method, Uri},
    response::{IntoResponse, Response},
};

use serde_path_to_error::Segment;

use super::{
    Problem,
    detail::{MistakeSort, Place},
};
use crate::bodies::Unread;

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        if let Some(problem) = unread(&rejection) {
            return problem;
        }
        match rejection {
            JsonRejection::JsonDataError(error) => {
                Self::bad_body(innermost(&error)).placed(place::<serde_json::Error>(&error))
            }
            JsonRejection::JsonSyntaxError(error) => Self::bad_json(innermost(&error)),
            JsonRejection::MissingJsonContentType(_) => {
                Self::bad_media_type("send the body as `Content-Type: application/json`")
            }
            other => Self::bad_json(other.body_text()),
        }
    }
}

impl From<BytesRejection> for Problem {
    fn from(rejection: BytesRejection) -> Self {
        unread(&rejection).unwrap_or_else(|| Self::bad_json(rejection.body_text()))
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::bad_query(innermost(&rejection)).placed(place::<serde::de::value::Error>(&rejection))
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::bad_path(rejection.body_text())
    }
}

/// Why a body was not read to its end, if the limits of bodies are the cause.
fn unread(rejection: &(dyn std::error::Error + 'static)) -> Option<Problem> {
    let mut causes = std::iter::successors(Some(rejection), |error| error.source());
    causes.find_map(|error| error.downcast_ref()).map(|Unread(problem)| problem.clone())
}

/// Where in a body or a query a mistake is, and of which sort. Serde says which field is missing or unknown in words only.
fn place<E: std::error::Error + 'static>(error: &(dyn std::error::Error + 'static)) -> Place {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    let found = causes.find_map(|error| error.downcast_ref::<serde_path_to_error::Error<E>>());
    let Some(found) = found else { return Place::default() };
    let path = found.path().iter().filter(|part| !matches!(part, Segment::Unknown));
    let mut fields: Vec<String> = path.map(ToString::to_string).collect();
    let why = found.inner().to_string();
    let named = |begin: &str| Some(why.strip_prefix(begin)?.split_once('`')?.0.to_owned());
    let sort = if let Some(missing) = named("missing field `") {
        fields.push(missing);
        MistakeSort::Missing
    } else if named("unknown field `").is_some() {
        MistakeSort::ExtraForbidden
    } else {
        MistakeSort::ValueError
    };
    Place { fields, sort }
}

/// The message of the first cause: what is wrong and where, without the framework's preface.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    in_words_of_json(&error.to_string())
}

/// Says what the parser says of a value in the words of JSON, not in those of the program.
fn in_words_of_json(said: &str) -> String {
    const WORDS: [(&str, &str); 7] = [
        ("invalid type: sequence,", "invalid type: array,"),
        ("invalid type: map,", "invalid type: object,"),
        (", expected a sequence", ", expected an array"),
        (", expected a map", ", expected an object"),
        (", expected u64", ", expected a whole number, 0 or more"),
        (", expected u32", ", expected a whole number, 0 or more"),
        (", expected i64", ", expected a whole number"),
    ];
    WORDS.into_iter().fold(said.to_owned(), |said, (word, plain)| said.replace(word, plain))
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
