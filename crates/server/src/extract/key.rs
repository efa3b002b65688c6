//! The key under which a request happens once.

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::Problem;

const HEADER: &str = "idempotency-key";
const LONGEST: usize = 255;

/// The `Idempotency-Key` of a request, if it has one.
pub(crate) struct IdempotencyKey(Option<String>);

impl IdempotencyKey {
    /// The key.
    pub(crate) fn as_deref(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut given = parts.headers.get_all(HEADER).iter();
        let Some(key) = given.next() else { return Ok(Self(None)) };
        let visible = key.as_bytes().iter().all(u8::is_ascii_graphic);
        match key.to_str() {
            Ok(key) if visible && (1..=LONGEST).contains(&key.len()) && given.next().is_none() => {
                Ok(Self(Some(key.to_owned())))
            }
            _ => Err(Problem::bad_header(format!(
                "`Idempotency-Key` takes one value of 1 to {LONGEST} visible ASCII characters"
            ))),
        }
    }
}
