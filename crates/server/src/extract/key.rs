//! The idempotency key of a request.

use axum::{extract::FromRequestParts, http::request::Parts};
use entourage_engine::OnceKey;
use utoipa::{
    IntoParams,
    openapi::{
        Required,
        path::{Parameter, ParameterBuilder, ParameterIn},
        schema::{ObjectBuilder, Type},
    },
};

use crate::Problem;

/// The name of the header.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";
const LONGEST: usize = 255;

/// The `Idempotency-Key` of a request, if it has one.
pub(crate) struct IdempotencyKey(Option<String>);

impl IdempotencyKey {
    /// The key that a form carries, if it has one.
    pub(crate) fn of_form(key: String) -> Result<Self, Problem> {
        if key.len() > LONGEST {
            let why = format!("the key of the form has {} bytes; at most {LONGEST} are taken", key.len());
            return Err(Problem::bad_body(why));
        }
        Ok(Self(Some(key).filter(|key| !key.is_empty())))
    }

    /// The key, as that of this request.
    pub(crate) fn once<'a>(&'a self, request: &'a str) -> Option<OnceKey<'a>> {
        self.as_deref().map(|key| OnceKey { key, request })
    }

    /// The key.
    pub(crate) fn as_deref(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut given = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        let Some(key) = given.next() else { return Ok(Self(None)) };
        let visible = key.as_bytes().iter().all(u8::is_ascii_graphic);
        match key.to_str() {
            Ok(key) if visible && (1..=LONGEST).contains(&key.len()) && given.next().is_none() => {
                Ok(Self(Some(key.to_owned())))
            }
            _ => Err(Problem::bad_header(format!(
                "`Idempotency-Key` takes one value of 1 to {LONGEST} visible ASCII characters"
            ))
            .at(IDEMPOTENCY_KEY)),
        }
    }
}

impl IntoParams for IdempotencyKey {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[!-~]{1,255}$"));
        let key = ParameterBuilder::new()
            .name("Idempotency-Key")
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some("Makes the request happen once, however often it is sent."))
            .schema(Some(text));
        vec![key.build()]
    }
}
