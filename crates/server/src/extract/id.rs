//! The id, or the name, in a path.

use std::{fmt::Display, str::FromStr};

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

use crate::Problem;

/// The id in a path, of the noun that the path is about; a name is an id without a form.
pub(crate) struct Id<T>(pub(crate) T);

impl<T, S> FromRequestParts<S> for Id<T>
where
    T: FromStr<Err: Display> + Display,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await?;
        let id: T = text.parse().map_err(|error: T::Err| Problem::bad_path(error.to_string()))?;
        tracing::Span::current().record("id", tracing::field::display(&id));
        Ok(Self(id))
    }
}
