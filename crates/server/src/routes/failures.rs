//! How requests fail, as the description tells it: each way once, referred to by the operations.

use std::collections::BTreeMap;

use utoipa::{
    IntoResponses, ToSchema,
    openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder},
};

use crate::Problem;

/// Status, name and meaning of each way to fail that a client should be ready for.
const EXPECTED: [(&str, &str, &str); 6] = [
    ("400", "Malformed", "The path, the query, a header or the JSON is malformed."),
    ("401", "Unauthorized", "There is no valid token."),
    ("404", "NotFound", "There is no such thing, or it is not the caller's."),
    ("422", "Unprocessable", "The request makes no sense as it is; the detail says what would."),
    (
        "429",
        "TooMany",
        "As many requests or streams of this owner are open as one may have, or it has not taken the answers to \
         earlier ones. `Retry-After` says when to ask again.",
    ),
    (
        "503",
        "Unavailable",
        "The store does not answer, the disk is full, or the server stops. Nothing was changed.",
    ),
];
const RESERVED: (&str, &str, &str) = ("403", "Reserved", "It is for the operator alone.");
const UNEXPECTED: (&str, &str, &str) = ("default", "Failure", "Anything else.");
const GONE: (&str, &str, &str) = ("410", "Gone", "Events behind that number are not kept any more.");
const CONFLICT: (&str, &str, &str) = ("409", "Conflict", "It is too late for that.");

/// How any request about the engine's nouns may fail.
pub(crate) struct Failures;

/// How a request fails that asks for nothing in particular.
pub(crate) struct Unexpected;

/// How a request fails that asks for what is not kept any more.
pub(crate) struct Gone;

/// How a request that comes too late fails.
pub(crate) struct Conflict;

/// How a request about the whole engine fails that is not the operator's.
pub(crate) struct Reserved;

impl IntoResponses for Failures {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refer(EXPECTED.into_iter().chain([UNEXPECTED]))
    }
}

impl IntoResponses for Unexpected {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refer([UNEXPECTED])
    }
}

impl IntoResponses for Gone {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refer([GONE])
    }
}

impl IntoResponses for Conflict {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refer([CONFLICT])
    }
}

impl IntoResponses for Reserved {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refer([RESERVED])
    }
}

/// What the operations refer to.
pub(crate) fn described() -> impl Iterator<Item = (String, RefOr<Response>)> {
    EXPECTED.into_iter().chain([UNEXPECTED, CONFLICT, GONE, RESERVED]).map(|(_, name, meaning)| {
        let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name(Problem::name()))).build();
        let response =
            ResponseBuilder::new().description(meaning).content("application/problem+json", problem);
        (name.to_owned(), response.build().into())
    })
}

fn refer(
    ways: impl IntoIterator<Item = (&'static str, &'static str, &'static str)>,
) -> BTreeMap<String, RefOr<Response>> {
    let named = |name| Ref::from_response_name(name).into();
    ways.into_iter().map(|(status, name, _)| (status.to_owned(), named(name))).collect()
}
