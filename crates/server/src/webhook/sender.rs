//! The senders of webhooks, and what they send: it is accepted only with a signature over the bytes as they
//! arrived.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::HeaderMap,
};
use entourage_engine::Client;
use entourage_types::Owner;
use serde::de::DeserializeOwned;

use super::{
    WebhookSender,
    signature::{ID, SIGNATURE, Secret, TIMESTAMP, checked_time},
    unusable,
};
use crate::{Problem, Result, extract::Object, state::AppState};

/// The senders whose webhooks are accepted. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Senders(Arc<[(Secret, Owner)]>);

impl Senders {
    /// The senders of these settings, by name.
    pub(crate) fn new(senders: &BTreeMap<String, WebhookSender>) -> Result<Self> {
        let read = senders.iter().map(|(name, sender)| {
            let secret =
                Secret::parse(&sender.secret).map_err(|why| unusable("server.webhooks", name, why))?;
            Ok((secret, sender.owner.clone()))
        });
        Ok(Self(read.collect::<Result<_>>()?))
    }

    /// The owner that the sender of a webhook acts for; `None` if no sender signed it.
    fn owner(&self, id: &str, timestamp: &str, body: &[u8], signature: &str) -> Option<&Owner> {
        let mut all = self.0.iter();
        all.find(|(secret, _)| secret.signed(id, timestamp, body, signature)).map(|(_, owner)| owner)
    }
}

/// A webhook whose sender is known: a client for the sender's owner, the id, which is the same when the
/// webhook is sent again, and the document.
pub(crate) struct Signed<T> {
    pub(crate) client: Client,
    pub(crate) id: String,
    pub(crate) document: T,
}

impl<T: DeserializeOwned> FromRequest<AppState> for Signed<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, served: &AppState) -> Result<Self, Problem> {
        if served.senders.0.is_empty() {
            return Err(Problem::no_senders(
                "no sender is set up: give one a secret as `server.webhooks.<name>.secret`, and sign with it",
            ));
        }
        let headers = request.headers().clone();
        let (id, timestamp) = (header(&headers, ID)?.to_owned(), header(&headers, TIMESTAMP)?);
        let signature = header(&headers, SIGNATURE)?;
        let body = Bytes::from_request(request, served).await?;
        let owner = served.senders.owner(&id, timestamp, &body, signature).ok_or_else(|| {
            Problem::bad_signature(format!(
                "`{SIGNATURE}` is no signature of this body by a sender that is set up: `v1,` and, in base64, \
                 the HMAC-SHA256 of `{ID}`, a dot, `{TIMESTAMP}`, a dot and the body's bytes"
            ))
        })?;
        checked_time(timestamp, served.engine.clock().now()).map_err(Problem::stale_webhook)?;
        let Object(document) = serde_json::from_slice(&body).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => Problem::bad_body(error.to_string()),
            _ => Problem::bad_json(error.to_string()),
        })?;
        Ok(Self { client: served.engine.client(owner.clone()), id, document })
    }
}

/// Returns a header that every webhook must have.
fn header<'h>(headers: &'h HeaderMap, name: &str) -> Result<&'h str, Problem> {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.filter(|value| (1..=255).contains(&value.len()) || name == SIGNATURE).ok_or_else(|| {
        Problem::bad_signature(format!("`{name}` is missing: sign it as docs/webhooks.md shows, in one line"))
    })
}
