//! Webhooks, from other programs to the engine and back. Both directions are signed the same way: after
//! Standard Webhooks, for which every language has a library.

mod document;
mod sender;
mod signature;
mod transport;

use std::{collections::BTreeMap, sync::Arc};

use entourage_engine::{Clock, Outbox, Receiver, Transport};
use entourage_types::{Occasion, Owner};
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Deserialize;

pub(crate) use sender::{Senders, Signed};

use crate::{Error, Result};

/// A receiver of webhooks about tasks, questions and what messages to the document agent come to.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    /// Where webhooks are sent: `http://` or `https://`.
    pub url: String,
    /// The secret that signs them: `whsec_` and 24 to 64 bytes in base64.
    #[schemars(with = "String")]
    pub secret: SecretString,
    /// The events that are sent; all by default.
    #[serde(default = "everything")]
    #[schemars(with = "Vec<String>")]
    pub events: Vec<Occasion>,
    /// The owner of what they are about; `local` by default.
    #[serde(default = "Owner::local")]
    #[schemars(with = "String")]
    pub owner: Owner,
}

/// A sender whose webhooks are accepted.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookSender {
    /// The secret that it signs with: `whsec_` and 24 to 64 bytes in base64.
    #[schemars(with = "String")]
    pub secret: SecretString,
    /// The owner that it acts for; `local` by default.
    #[serde(default = "Owner::local")]
    #[schemars(with = "String")]
    pub owner: Owner,
}

fn everything() -> Vec<Occasion> {
    Occasion::ALL.to_vec()
}

/// Returns the outbox for these receivers, by name, and the transport that delivers to them and signs with
/// the time of this clock. The process's TLS provider must be installed.
///
/// # Errors
/// [`Error::Webhook`] names the first one whose address, secret or events cannot be used.
pub fn outbox(
    webhooks: &BTreeMap<String, Webhook>,
    clock: Arc<dyn Clock>,
) -> Result<(Outbox, impl Transport + use<>)> {
    let transport = transport::HttpTransport::new(webhooks, clock)?;
    let receivers = webhooks.iter().map(|(name, webhook)| Receiver {
        name: name.clone(),
        owner: webhook.owner.clone(),
        events: webhook.events.clone(),
    });
    Ok((Outbox::new(receivers), transport))
}

/// Checks that the secrets of these senders can be used.
///
/// # Errors
/// [`Error::Webhook`] names the first one that cannot.
pub fn check_senders(senders: &BTreeMap<String, WebhookSender>) -> Result<()> {
    Senders::new(senders).map(drop)
}

/// The error for a webhook's settings that cannot be used.
fn unusable(place: &str, name: &str, why: impl Into<String>) -> Error {
    Error::Webhook { place: format!("{place}.{name}"), why: why.into() }
}
