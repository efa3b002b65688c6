//! Reads what the model sees before a call: only the parts that the agent's kind wants.

use std::sync::Arc;

use crate::prompt;
use crate::run::{Result, Run};

impl Run<'_> {
    /// Returns the stable prefix, which is the same for the whole session.
    pub(in crate::run) async fn system(&mut self) -> Result<Arc<str>> {
        if let Some(system) = self.offered.system() {
            return Ok(Arc::clone(system));
        }
        let sessions = match self.offered.position().has_sessions {
            true => self.engine.memory(&self.agent).latest_sessions(self.kind.context.summaries).await?,
            false => Vec::new(),
        };
        Ok(self.offered.keep_system(prompt::system(&self.kind, &sessions)))
    }

    /// Renders the tail, which changes from call to call.
    pub(in crate::run) async fn tail(&self) -> Result<String> {
        let memory = self.engine.memory(&self.agent);
        Ok(memory.tail(&self.kind, self.offered.tools()).await?.render(&self.kind.context, self.engine.now()))
    }
}
