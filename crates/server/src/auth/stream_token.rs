//! Authenticates streams by the token in their address.

use axum::{
    extract::{FromRequestParts, OptionalFromRequestParts, Query, Request, State},
    http::{Method, request::Parts},
    middleware::Next,
    response::Response,
};
use entourage_engine::Versioned;
use entourage_types::StreamToken;
use serde::Deserialize;

use super::Identity;
use crate::{Problem, state::AppState};

/// The paths that take such a token: it is for one stream, and for nothing else.
const STREAMS: [&str; 2] = ["/agent/stream", "/agent/ws"];

/// The token by which a stream was authenticated.
#[derive(Debug, Clone)]
pub(crate) struct StreamGrant(pub(crate) Versioned<StreamToken>);

#[derive(Deserialize)]
struct Given {
    token: Option<String>,
}

/// Middleware: a stream that gives a token acts for the owner of the token. Other requests pass.
pub(crate) async fn stream_token(
    State(served): State<AppState>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let is_stream = request.method() == Method::GET && STREAMS.contains(&request.uri().path());
    let given = if is_stream { Query::<Given>::try_from_uri(request.uri()).ok() } else { None };
    if let Some(token) = given.and_then(|Query(given)| given.token) {
        let found = match served.seal.opened(&token) {
            Some(token) => served.engine.stream_token(token).await?,
            None => None,
        };
        let found = found.ok_or_else(|| {
            Problem::bad_token("`token` is unknown or has expired; get one from `POST /agent/stream-token`")
        })?;
        let StreamToken { owner, expires, .. } = &found.record;
        let identity = Identity { owner: owner.clone(), is_operator: false, expires: *expires };
        request.extensions_mut().insert(identity);
        request.extensions_mut().insert(StreamGrant(found));
    }
    Ok(next.run(request).await)
}

impl<S: Send + Sync> FromRequestParts<S> for StreamGrant {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get().cloned().ok_or_else(Problem::no_token)
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for StreamGrant {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Problem> {
        Ok(parts.extensions.get().cloned())
    }
}
