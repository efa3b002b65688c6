//! What the model gets to see before a call: read as far as the agent's kind wants it, and no further.

use std::sync::Arc;

use entourage_types::Section;

use super::{Result, Run};
use crate::prompt::{self, Tail};

impl Run<'_> {
    /// The stable prefix; the same for as long as the session lasts.
    pub(super) fn system(&mut self) -> Arc<str> {
        let kind = &self.kind;
        Arc::clone(self.system.get_or_insert_with(|| prompt::system(kind)))
    }

    /// What changes from call to call.
    pub(super) async fn tail(&self) -> Result<String> {
        let policy = &self.kind.context;
        let wants = |section| policy.sections.contains(&section);
        let memory = self.house.memory(&self.agent);
        let mut tail = Tail::default();
        if wants(Section::Notes) {
            tail.notes = memory.notes(Tail::NOTES).await?;
        }
        if wants(Section::Learnings) && self.offer.has(LEARNS) {
            tail.learnings = memory.learnings().await?;
        }
        Ok(tail.render(policy, self.house.now()))
    }
}

/// The tool that an agent with learnings has.
const LEARNS: &str = "save_learning";
