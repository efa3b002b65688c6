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

/// The id and the number behind it in a path.
pub(crate) struct IdAndNumber<T>(pub(crate) T, pub(crate) u64);

impl<T, S> FromRequestParts<S> for IdAndNumber<T>
where
    T: FromStr<Err: Display> + Display,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path((id, number)) = Path::<(String, String)>::from_request_parts(parts, state).await?;
        let id: T = checked(id)?.parse().map_err(|error: T::Err| Problem::bad_path(error.to_string()))?;
        tracing::Span::current().record("id", tracing::field::display(&id));
        Ok(Self(id, checked(number)?.parse::<Number>().map_err(Problem::bad_path)?.0))
    }
}

/// A number in a path that is an id.
pub(crate) struct Number(pub(crate) u64);

impl FromStr for Number {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| format!("`{text}` is no number from 0 to {}", u64::MAX))
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
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
