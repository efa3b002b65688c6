//! The caller of a request.

use axum::{extract::FromRequestParts, http::request::Parts};
use entourage_engine::Client;
use entourage_types::Time;

use crate::{Problem, auth::Identity, state::AppState};

/// The caller of a request, with a client that acts for its owner.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) client: Client,
    /// When the caller's token expires; `None` without authentication.
    pub(crate) until: Option<Time>,
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, served: &AppState) -> Result<Self, Problem> {
        // No route outside the authentication layer takes a caller; if one did, its requests would be
        // refused.
        let identity = parts.extensions.get::<Identity>().ok_or_else(Problem::no_token)?;
        let client = served.engine.client(identity.owner.clone()).operating(identity.is_operator);
        Ok(Self { client, until: identity.expires })
    }
}
