//! Nobody waits for an answer any more: what was said is withdrawn.

use tokio_util::sync::CancellationToken;

use crate::{Client, Spoken};

/// Withdraws what was said when it is dropped, unless it is over by then or stays.
pub(super) struct HangUp {
    pub(super) client: Client,
    pub(super) spoken: Spoken,
    /// Cancelled where what was said goes on by itself: the process ends, or whoever waits comes back.
    stays: CancellationToken,
    is_over: bool,
}

impl HangUp {
    pub(super) fn new(client: &Client, spoken: Spoken, stays: CancellationToken) -> Self {
        Self { client: client.clone(), spoken, stays, is_over: false }
    }

    /// There is nothing to withdraw any more.
    pub(super) fn disarm(&mut self) {
        self.is_over = true;
    }
}

impl Drop for HangUp {
    fn drop(&mut self) {
        if self.is_over || self.stays.is_cancelled() {
            return;
        }
        // Without a runtime the process is ending, and what is under way goes on with the next start.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (client, Spoken { agent, post, .. }) = (self.client.clone(), self.spoken);
        runtime.spawn(async move {
            if let Err(error) = client.withdraw(agent, post).await {
                tracing::warn!(%error, "what nobody waits for any more goes on");
            }
        });
    }
}
