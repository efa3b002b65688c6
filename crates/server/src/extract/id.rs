//! The id, or the names, in a path.

use std::{fmt::Display, str::FromStr};

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};

use crate::Problem;

/// The longest name, in characters: as long as a body may give it.
const LONGEST: usize = 255;

/// The id in a path. A name is an id without a fixed format.
pub(crate) struct Id<T>(pub(crate) T);

impl<T, S> FromRequestParts<S> for Id<T>
where
    T: FromStr<Err: Display> + Display,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await?;
        let text = checked(text)?;
        let id: T = text.parse().map_err(|error: T::Err| Problem::bad_path(error.to_string()))?;
        tracing::Span::current().record("id", tracing::field::display(&id));
        Ok(Self(id))
    }
}

/// The two names in a path.
pub(crate) struct Names(pub(crate) String, pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Names {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path((one, other)) = Path::<(String, String)>::from_request_parts(parts, state).await?;
        Ok(Self(checked(one)?, checked(other)?))
    }
}

/// Refuses a name that is too long, without repeating it.
fn checked(name: String) -> Result<String, Problem> {
    match name.chars().count() {
        0..=LONGEST => Ok(name),
        length => {
            let why = format!("a name in it has {length} characters; at most {LONGEST} are taken");
            Err(Problem::bad_path(why))
        }
    }
}
