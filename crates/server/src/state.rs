//! The state that handlers share.

use std::{sync::Arc, time::Duration};

use entourage_engine::Engine;
use tokio_util::sync::CancellationToken;

use crate::{
    Installation,
    accounts::Accounts,
    auth::{Bearer, Seal},
    console::Logins,
    streams::Streams,
    webhook::Senders,
};

/// The state that handlers share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) engine: Engine,
    pub(crate) senders: Senders,
    /// What registering and logging in need; none if registration is off.
    pub(crate) accounts: Option<Arc<Accounts>>,
    /// The program that the server is part of, if it tells about itself.
    pub(crate) installation: Option<Arc<dyn Installation>>,
    pub(crate) heartbeat: Duration,
    pub(crate) streams: Arc<Streams>,
    /// What verifies tokens.
    pub(crate) bearer: Bearer,
    /// What is on the stream tokens and the logins that were given out.
    pub(crate) seal: Seal,
    /// Logging in at the console.
    pub(crate) logins: Arc<Logins>,
    /// Cancelled when the server must stop, so that streams end.
    pub(crate) shutdown: CancellationToken,
}
