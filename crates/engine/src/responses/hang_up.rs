//! Withdraws a message if no client waits for its answer any more.

use tokio_util::sync::CancellationToken;

use crate::{AcceptedMessage, Client};

/// Withdraws a message when it is dropped, unless the message was answered by then or stays.
pub(super) struct HangUp {
    pub(super) client: Client,
    pub(super) spoken: AcceptedMessage,
    /// Cancelled if the message goes on by itself: the process ends, or the client that waits comes back.
    stays: CancellationToken,
    is_over: bool,
}

impl HangUp {
    pub(super) fn new(client: &Client, spoken: AcceptedMessage, stays: CancellationToken) -> Self {
        Self { client: client.clone(), spoken, stays, is_over: false }
    }

    /// Notes that there is nothing to withdraw any more.
    pub(super) fn disarm(&mut self) {
        self.is_over = true;
    }
}

impl Drop for HangUp {
    fn drop(&mut self) {
        if self.is_over || self.stays.is_cancelled() {
            return;
        }
        // Without a runtime the process is ending, and the run goes on with the next start.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (client, AcceptedMessage { agent, post, .. }) = (self.client.clone(), self.spoken);
        runtime.spawn(async move {
            if let Err(error) = client.withdraw(agent, post).await {
                tracing::warn!(%error, "could not cancel the run of a disconnected client");
            }
        });
    }
}
