//! What handlers share.

use std::{sync::Arc, time::Duration};

use entourage_engine::Engine;
use tokio_util::sync::CancellationToken;

use crate::{streams::Streams, webhook::Senders};

/// What handlers share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) engine: Engine,
    pub(crate) senders: Senders,
    pub(crate) heartbeat: Duration,
    pub(crate) streams: Arc<Streams>,
    /// Cancelled when the server shall stop: streams end, so that it can.
    pub(crate) shutdown: CancellationToken,
}
