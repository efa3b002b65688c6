//! How requests of this surface fail, in the OpenAPI document.

use std::collections::BTreeMap;

use utoipa::{
    IntoResponses, ToSchema,
    openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder},
};

use crate::{
    problem::{Detail, ValidationDetail},
    routes::failures::refer,
};

/// Status, name and description of each failure that a client should be ready for.
const EXPECTED: [(&str, &str, &str); 5] = [
    ("401", "DetailUnauthorized", "There is no valid token."),
    ("404", "DetailNotFound", "It does not exist, or it is not the caller's."),
    ("429", "DetailTooMany", "Too many requests; `Retry-After` says when to ask again."),
    (
        "503",
        "DetailUnavailable",
        "The store does not answer, the disk is full, or the server is full or stopping.",
    ),
    ("default", "DetailFailure", "Anything else."),
];
const INVALID: (&str, &str, &str) =
    ("422", "DetailInvalid", "The request is not valid: what is wrong, and where.");
const CONFLICT: (&str, &str, &str) = ("409", "DetailConflict", "The name is in use, or there is no answer.");
const STALE: [(&str, &str, &str); 2] = [
    (
        "412",
        "DetailStale",
        "The document has another version by now, which `ETag` names: nothing was changed.",
    ),
    ("428", "DetailVersionNeeded", "`If-Match` is needed, with the `ETag` of the document as it was read."),
];
const NO_PROJECT: (&str, &str, &str) =
    ("400", "DetailNoProject", "No chat is continued, and no project is named.");

/// The failures of any request.
pub(in crate::routes) struct Details;

/// The failure of a request that what is there does not allow.
pub(in crate::routes) struct InConflict;

/// The failures of a change for another version of a document than it has.
pub(super) struct OutOfDate;

/// The failure of a message without a chat and a project (S5-R013).
pub(super) struct NoProject;

impl IntoResponses for Details {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refer(EXPECTED.into_iter().chain([INVALID]))
    }
}

impl IntoResponses for InConflict {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refer([CONFLICT])
    }
}

impl IntoResponses for OutOfDate {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refer(STALE)
    }
}

impl IntoResponses for NoProject {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        refer([NO_PROJECT])
    }
}

/// The responses that operations refer to.
pub(crate) fn described() -> impl Iterator<Item = (String, RefOr<Response>)> {
    let plain = EXPECTED.into_iter().chain([CONFLICT, NO_PROJECT]).chain(STALE);
    let plain = plain.map(|(_, name, meaning)| response(name, meaning, &Detail::name()));
    plain.chain([response(INVALID.1, INVALID.2, &ValidationDetail::name())])
}

fn response(name: &str, meaning: &str, schema: &str) -> (String, RefOr<Response>) {
    let body = ContentBuilder::new().schema(Some(Ref::from_schema_name(schema))).build();
    let response = ResponseBuilder::new().description(meaning).content("application/json", body);
    (name.to_owned(), response.build().into())
}
