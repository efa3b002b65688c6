//! The query of a request.

use axum::{
    extract::{FromRequestParts, Query},
    http::request::Parts,
};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{Problem, page::bad_number};

/// The query of a request.
pub(crate) struct Filter<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Filter<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        if !is_utf8(parts.uri.query().unwrap_or_default()) {
            return Err(Problem::bad_query("a value is not UTF-8"));
        }
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => {
                let problem = rejection.into();
                Err(number(parts, &problem).unwrap_or(problem))
            }
        }
    }
}

/// That the request has no query. A parameter that somebody put there would be ignored, although it was meant.
pub(crate) type NoQuery = Filter<NoParameters>;

/// The parameters of a path that has none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParameters {}

/// Whether what a query encodes by percent signs is UTF-8; it would be read with replacement characters otherwise.
fn is_utf8(query: &str) -> bool {
    let mut bytes = Vec::with_capacity(query.len());
    let mut rest = query.as_bytes();
    while let [first, behind @ ..] = rest {
        let hex = behind.get(..2).filter(|_| *first == b'%').and_then(|hex| str::from_utf8(hex).ok());
        let encoded = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(encoded.unwrap_or(*first));
        rest = if encoded.is_some() { &behind[2..] } else { behind };
    }
    str::from_utf8(&bytes).is_ok()
}

/// The problem of a parameter that must be a number and is none, if that is this problem: the standard library says
/// neither what was given nor what is expected.
fn number(parts: &Parts, Problem { document, .. }: &Problem) -> Option<Problem> {
    let (name, why) = document.detail.split_once(": ")?;
    let mut mistakes =
        ["", "x", "99999999999999999999"].into_iter().filter_map(|text| text.parse::<u64>().err());
    if !mistakes.any(|mistake| mistake.to_string() == why) {
        return None;
    }
    let Query(all) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).ok()?;
    let (_, value) = all.into_iter().find(|(given, _)| given == name)?;
    Some(bad_number(name, value))
}
