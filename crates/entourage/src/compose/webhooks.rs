//! The receivers of webhooks and the transport that delivers to them.

use std::sync::Arc;

use entourage_engine::{Outbox, Transport};

#[cfg(not(feature = "server"))]
use crate::{Error, subscriber::NoReceivers};
use crate::{Result, Settings};

/// Checks whether the receivers and senders of webhooks can be used as configured.
///
/// # Errors
/// What is wrong with the first that cannot be used.
#[cfg(feature = "server")]
pub fn check_webhooks(settings: &Settings) -> Result<()> {
    outbox(settings)?;
    Ok(entourage_server::check_senders(&settings.server.webhooks)?)
}

/// The receivers of webhooks: a build without the feature `server` has none.
#[cfg(not(feature = "server"))]
pub(super) fn outbox(settings: &Settings) -> Result<(Outbox, Arc<dyn Transport>)> {
    if let Some(name) = settings.webhooks.keys().next() {
        return Err(Error::Settings {
            place: format!("webhooks.{name}"),
            why: "this program was built without webhooks. Build it with the feature `server` of entourage, or \
                  take the webhooks out of its settings"
                .into(),
        });
    }
    Ok((Outbox::default(), Arc::new(NoReceivers)))
}

/// The receivers of webhooks, and the transport that delivers to them. Sets up TLS if there are any.
#[cfg(feature = "server")]
pub(super) fn outbox(settings: &Settings) -> Result<(Outbox, Arc<dyn Transport>)> {
    if !settings.webhooks.is_empty() {
        entourage_llm::install_tls();
    }
    let (outbox, transport) =
        entourage_server::outbox(&settings.webhooks, Arc::new(entourage_engine::SystemClock))?;
    Ok((outbox, Arc::new(transport)))
}
