//! How requests fail, in the OpenAPI document: each response is described once, and operations refer to it.

use std::collections::BTreeMap;

use utoipa::{
    IntoResponses, ToSchema,
    openapi::{ContentBuilder, OpenApi, Ref, RefOr, Response, ResponseBuilder, path::Parameter},
};

use entourage_api::Problem;

const MALFORMED: (&str, &str, &str) =
    ("400", "Malformed", "The path, the query, a header or the JSON is malformed.");
/// Status, name and description of each failure that a client should be ready for.
const EXPECTED: [(&str, &str, &str); 6] = [
    MALFORMED,
    ("401", "Unauthorized", "There is no valid token."),
    ("404", "NotFound", "It does not exist, or it is not the caller's."),
    ("422", "Unprocessable", "The request is not valid; the detail says what would be."),
    (
        "429",
        "TooMany",
        "The owner has as many requests or streams open as one may have, or its clients have not read the \
         responses to earlier ones. `Retry-After` says when to ask again.",
    ),
    (
        "503",
        "Unavailable",
        "The store does not answer, the disk is full, or the server is full or stopping. Nothing was changed, unless \
         the detail says otherwise.",
    ),
];
const RESERVED: (&str, &str, &str) = ("403", "Reserved", "Only the operator may do this.");
const UNEXPECTED: (&str, &str, &str) = ("default", "Failure", "Anything else.");
const GONE: (&str, &str, &str) = (
    "410",
    "Gone",
    "Events after that number, or up to it, were pruned, or do not exist yet; the entry that the cursor names was \
     removed.",
);
const STALE: [(&str, &str, &str); 2] = [
    ("412", "Stale", "The document has another version by now, which `ETag` names: nothing was changed."),
    ("428", "VersionNeeded", "`If-Match` is needed, with the `ETag` of the document as it was read."),
];
const CONFLICT: (&str, &str, &str) =
    ("409", "Conflict", "The state of what it is about does not allow this: the detail says why.");

/// The failures of any request for an owner's data.
pub(crate) struct Failures;

/// The failures of a request that names nothing in particular.
pub(crate) struct Unexpected;

/// The failure of a request for events that are not kept.
pub(crate) struct Gone;

/// The failure of a request that the state of its agent or question does not allow.
pub(crate) struct Conflict;

/// The failures of a change for another version of a document than it has.
pub(crate) struct Stale;

/// The failure of a request that only the operator may make.
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

impl IntoResponses for Stale {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refer(STALE)
    }
}

impl IntoResponses for Reserved {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refer([RESERVED])
    }
}

/// The responses that operations refer to.
pub(crate) fn described() -> impl Iterator<Item = (String, RefOr<Response>)> {
    EXPECTED.into_iter().chain([UNEXPECTED, CONFLICT, GONE, RESERVED]).chain(STALE).map(
        |(_, name, meaning)| {
            let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name(Problem::name()))).build();
            let response =
                ResponseBuilder::new().description(meaning).content("application/problem+json", problem);
            (name.to_owned(), response.build().into())
        },
    )
}

/// Adds to each list with pages that the entry where a page begins may be gone. The document agent's lists are described
/// by themselves.
pub(super) fn describe_pages(openapi: &mut OpenApi) {
    let reads = openapi.paths.paths.values_mut().filter_map(|path| path.get.as_mut());
    for read in reads.filter(|read| read.responses.responses.contains_key(MALFORMED.0)) {
        let is_cursor = |given: &RefOr<Parameter>| matches!(given, RefOr::T(given) if given.name == "cursor");
        if read.parameters.iter().flatten().any(is_cursor) {
            read.responses.responses.extend(refer([GONE]));
        }
    }
}

/// Responses that refer to those of these names.
pub(super) fn refer(
    ways: impl IntoIterator<Item = (&'static str, &'static str, &'static str)>,
) -> BTreeMap<String, RefOr<Response>> {
    let named = |name| Ref::from_response_name(name).into();
    ways.into_iter().map(|(status, name, _)| (status.to_owned(), named(name))).collect()
}
