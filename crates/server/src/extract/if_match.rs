//! The version of a document that a request is made for.

use axum::{
    extract::FromRequestParts,
    http::{header::IF_MATCH, request::Parts},
};
use entourage_engine::ExpectedVersion;
use utoipa::{
    IntoParams,
    openapi::{
        Required,
        path::{Parameter, ParameterBuilder, ParameterIn},
        schema::{ObjectBuilder, Type},
    },
};

use crate::Problem;

/// The version in `If-Match`: the `ETag` of the document as the caller has seen it, or `*` for any.
pub(crate) struct IfMatch(pub(crate) ExpectedVersion);

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut given = parts.headers.get_all(IF_MATCH).iter();
        let Some(value) = given.next() else {
            return Err(Problem::version_needed(
                "nothing was changed: send `If-Match` with the `ETag` of the document as you have read it, so that no \
                 change of others is overwritten; `If-Match: *` changes it whatever it says by now",
            ));
        };
        let expected = value.to_str().ok().filter(|_| given.next().is_none()).and_then(expected);
        expected.map(Self).ok_or_else(|| {
            Problem::bad_header("`If-Match` takes one `ETag` of the document, such as `\"3\"`, or `*`")
                .at(IF_MATCH.as_str())
        })
    }
}

/// The same where it is not needed: without it, any version will do.
pub(crate) struct IfMatchAny(pub(crate) ExpectedVersion);

impl<S: Send + Sync> FromRequestParts<S> for IfMatchAny {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        if !parts.headers.contains_key(IF_MATCH) {
            return Ok(Self(ExpectedVersion::Any));
        }
        IfMatch::from_request_parts(parts, state).await.map(|IfMatch(expected)| Self(expected))
    }
}

impl IntoParams for IfMatchAny {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![header(Required::False)]
    }
}

fn expected(value: &str) -> Option<ExpectedVersion> {
    if value.trim() == "*" {
        return Some(ExpectedVersion::Any);
    }
    // A proxy that compresses marks the tag as weak, although it stands for the same version.
    let tag = value.trim();
    let digits = tag.strip_prefix("W/").unwrap_or(tag).strip_prefix('"')?.strip_suffix('"')?;
    digits.parse().ok().map(ExpectedVersion::Exactly)
}

impl IntoParams for IfMatch {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![header(Required::True)]
    }
}

fn header(required: Required) -> Parameter {
    let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some(r#"^(\*|(W/)?"[0-9]{1,18}")$"#));
    ParameterBuilder::new()
        .name("If-Match")
        .parameter_in(ParameterIn::Header)
        .required(required)
        .description(Some(
            "The `ETag` of the document as it was read, or `*` to change it whatever it says by now.",
        ))
        .schema(Some(text))
        .build()
}
