//! The id, or the names, in a path.

use std::{fmt::Display, str::FromStr};

use axum::{
    extract::{FromRequestParts, Path, RawPathParams},
    http::request::Parts,
};

use crate::Problem;

/// The longest name, in characters: as long as a body may give it.
const LONGEST: usize = 255;

/// The id in a path. A name is an id without a fixed format.
pub(crate) struct Id<T>(pub(crate) T);

impl<T, S> FromRequestParts<S> for Id<T>
where
    T: FromStr<Err: Display> + Display + Send,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await?;
        let id: T = parsed(parts, 0, text).await?;
        tracing::Span::current().record("id", tracing::field::display(&id));
        Ok(Self(id))
    }
}

/// The two ids in a path, or an id and a [`Number`].
pub(crate) struct Ids<T, U>(pub(crate) T, pub(crate) U);

impl<T, U, S> FromRequestParts<S> for Ids<T, U>
where
    T: FromStr<Err: Display> + Display + Send,
    U: FromStr<Err: Display> + Send,
    S: Send + Sync,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path((first, second)) = Path::<(String, String)>::from_request_parts(parts, state).await?;
        let first: T = parsed(parts, 0, first).await?;
        tracing::Span::current().record("id", tracing::field::display(&first));
        Ok(Self(first, parsed(parts, 1, second).await?))
    }
}

/// Reads the nth parameter of a path.
async fn parsed<T: FromStr<Err: Display>>(parts: &mut Parts, nth: usize, text: String) -> Result<T, Problem> {
    let why = match checked(text)?.parse() {
        Ok(parsed) => return Ok(parsed),
        Err(why) => T::Err::to_string(&why),
    };
    let problem = Problem::bad_path(why);
    let names = RawPathParams::from_request_parts(parts, &()).await.ok();
    match names.as_ref().and_then(|names| names.iter().nth(nth)) {
        Some((name, _)) => Err(problem.at(name)),
        None => Err(problem),
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
