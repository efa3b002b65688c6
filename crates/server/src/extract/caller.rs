//! Who asks.

use axum::{extract::FromRequestParts, http::request::Parts};
use entourage_engine::Client;
use entourage_types::Time;

use crate::{Problem, auth::Identity, state::Served};

/// Who asks: the engine as that owner sees it.
pub(crate) struct Caller {
    pub(crate) client: Client,
    /// Until when the caller may ask, where that ends.
    pub(crate) until: Option<Time>,
}

impl FromRequestParts<Served> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, served: &Served) -> Result<Self, Problem> {
        // No route outside the authentication layer takes a caller; if one did, it would be refused.
        let identity = parts.extensions.get::<Identity>().ok_or_else(Problem::no_token)?;
        let client = served.engine.client(identity.owner.clone()).operating(identity.is_operator);
        Ok(Self { client, until: identity.expires })
    }
}
