//! A message about documents, followed to its answer.

use tokio_util::sync::CancellationToken;

use super::Follow;
use crate::{AcceptedAct, Client, Result};

impl Client {
    /// Follows a message about documents to its answer. Nothing is withdrawn if this is dropped: the answer is in the chat.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if the chat was pruned.
    pub async fn follow_act(&self, accepted: AcceptedAct) -> Result<Follow> {
        let agent = self.agent(accepted.chat).await?;
        let stays = CancellationToken::new();
        stays.cancel();
        match accepted.before {
            Some(before) => Follow::new_message(self, &agent, accepted.post, before, stays).await,
            None => Follow::again(self, String::new(), &agent, accepted.post, stays).await,
        }
    }
}
