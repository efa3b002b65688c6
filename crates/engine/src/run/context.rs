//! What the model gets to see before a call: read as far as the agent's kind wants it, and no further.

use std::sync::Arc;

use super::{Result, Run};
use crate::prompt;

impl Run<'_> {
    /// The stable prefix; the same for as long as the session lasts.
    pub(super) async fn system(&mut self) -> Result<Arc<str>> {
        if self.system.is_none() {
            let sessions = match self.position.has_sessions {
                true => self.engine.memory(&self.agent).latest_sessions(self.kind.context.summaries).await?,
                false => Vec::new(),
            };
            self.system = Some(prompt::system(&self.kind, &sessions));
        }
        Ok(self.system.clone().unwrap_or_default())
    }

    /// What changes from call to call.
    pub(super) async fn tail(&self) -> Result<String> {
        let memory = self.engine.memory(&self.agent);
        Ok(memory.tail(&self.kind, &self.offer).await?.render(&self.kind.context, self.engine.now()))
    }
}
