//! The token of a request, and whose it is.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, header::AUTHORIZATION},
    middleware::Next,
    response::Response,
};
use entourage_types::{Owner, Time};
use jsonwebtoken::{DecodingKey, Validation, errors::ErrorKind};
use serde::Deserialize;

use super::Auth;
use crate::{Problem, Result};

/// Checks the tokens of requests.
#[derive(Clone)]
pub(crate) enum Bearer {
    /// Nobody needs one.
    Local,
    /// Everybody does.
    Token(Arc<(DecodingKey, Validation)>),
}

/// Who asks, and until when that holds.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) owner: Owner,
    /// When the token ends; a stream ends with it.
    pub(crate) expires: Option<Time>,
}

/// What is read of a token. What is missing is found missing by its validation, which can say so.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Claims {
    sub: String,
    exp: u64,
}

impl Bearer {
    /// Reads the key.
    pub(crate) fn new(auth: &Auth) -> Result<Self> {
        Ok(match auth {
            Auth::None => Self::Local,
            Auth::Jwt(jwt) => Self::Token(Arc::new((jwt.decoding_key()?, jwt.validation()))),
        })
    }

    fn identify(&self, headers: &HeaderMap) -> Result<Identity, Problem> {
        let Self::Token(check) = self else {
            return Ok(Identity { owner: Owner::local(), expires: None });
        };
        let token = token(headers)?;
        let claims = jsonwebtoken::decode::<Claims>(token, &check.0, &check.1)
            .map_err(|error| Problem::bad_token(why(error.kind())))?
            .claims;
        if claims.sub.is_empty() {
            return Err(Problem::bad_token("its `sub` is empty"));
        }
        let expires = Time::from_micros(0) + Duration::from_secs(claims.exp);
        Ok(Identity { owner: Owner::new(claims.sub), expires: Some(expires) })
    }
}

/// Lets a request pass once it is known who asks.
pub(crate) async fn bearer(
    State(bearer): State<Bearer>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let identity = bearer.identify(request.headers())?;
    request.extensions_mut().insert(identity);
    Ok(next.run(request).await)
}

fn token(headers: &HeaderMap) -> Result<&str, Problem> {
    let header = headers.get(AUTHORIZATION).ok_or_else(Problem::no_token)?;
    let value = header.to_str().map_err(|_| Problem::bad_token("it is not ASCII"))?;
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(Problem::no_token()),
    }
}

/// What is wrong with a token, in words that help its bearer and tell an attacker nothing new.
fn why(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ExpiredSignature => "it has expired; get a new one",
        ErrorKind::ImmatureSignature => "it is not valid yet",
        ErrorKind::MissingRequiredClaim(claim) => match claim.as_str() {
            "exp" => "it has no `exp`",
            "sub" => "it has no `sub`",
            "aud" => "it has no `aud`",
            _ => "it has no `iss`",
        },
        ErrorKind::InvalidAudience => "it is for another audience",
        ErrorKind::InvalidIssuer => "it is from another issuer",
        ErrorKind::InvalidAlgorithm | ErrorKind::InvalidAlgorithmName => {
            "it is signed with another algorithm"
        }
        ErrorKind::InvalidSignature => "its signature does not match",
        _ => "it is malformed",
    }
}
