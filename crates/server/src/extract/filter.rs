//! The query of a request.

use axum::{
    extract::{FromRequestParts, Query},
    http::request::Parts,
};
use serde::de::DeserializeOwned;

use crate::{Problem, page::bad_number};

/// The query of a request.
pub(crate) struct Filter<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Filter<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(query)) => Ok(Self(query)),
            Err(rejection) => {
                let problem = rejection.into();
                Err(number(parts, &problem).unwrap_or(problem))
            }
        }
    }
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
