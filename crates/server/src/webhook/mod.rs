//! Webhooks: how other programs tell the engine, and are told by it. One way to sign them, in both
//! directions: Standard Webhooks, which every language has a library for.

mod courier;
mod document;
mod sender;
mod signature;

use std::{collections::BTreeMap, sync::Arc};

use entourage_engine::{Clock, Courier, Outbox, Receiver};
use entourage_types::{Occasion, Owner};
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Deserialize;

pub(crate) use sender::{Senders, Signed};

use crate::{Error, Result};

/// Whom the engine tells of tasks and questions.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    /// Where it is told: `http://` or `https://`.
    pub url: String,
    /// What it is signed with: `whsec_` and 24 to 64 bytes in base64.
    #[schemars(with = "String")]
    pub secret: SecretString,
    /// What it is told of; everything unless given.
    #[serde(default = "everything")]
    #[schemars(with = "Vec<String>")]
    pub events: Vec<Occasion>,
    /// Whose tasks and questions; `local`'s unless given.
    #[serde(default = "Owner::local")]
    #[schemars(with = "String")]
    pub owner: Owner,
}

/// Who may tell the engine.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookSender {
    /// What it signs with: `whsec_` and 24 to 64 bytes in base64.
    #[schemars(with = "String")]
    pub secret: SecretString,
    /// On whose behalf it speaks; `local`'s unless given.
    #[serde(default = "Owner::local")]
    #[schemars(with = "String")]
    pub owner: Owner,
}

fn everything() -> Vec<Occasion> {
    Occasion::ALL.to_vec()
}

/// The outbox for these receivers, by name, and who brings them what they are told, signed with the time
/// of this clock. The process's TLS provider must be installed.
///
/// # Errors
/// [`Error::Webhook`] names the one whose address or secret cannot be used.
pub fn outbox(
    webhooks: &BTreeMap<String, Webhook>,
    clock: Arc<dyn Clock>,
) -> Result<(Outbox, impl Courier + use<>)> {
    let courier = courier::HttpCourier::new(webhooks, clock)?;
    let receivers = webhooks.iter().map(|(name, webhook)| Receiver {
        name: name.clone(),
        owner: webhook.owner.clone(),
        events: webhook.events.clone(),
    });
    Ok((Outbox::new(receivers), courier))
}

/// Whether the secrets of these senders can be used.
///
/// # Errors
/// [`Error::Webhook`] names the first one that cannot.
pub fn check_senders(senders: &BTreeMap<String, WebhookSender>) -> Result<()> {
    Senders::new(senders).map(drop)
}

/// That a webhook's settings cannot be used.
fn unusable(place: &str, name: &str, why: impl Into<String>) -> Error {
    Error::Webhook { place: format!("{place}.{name}"), why: why.into() }
}
