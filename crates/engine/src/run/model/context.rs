//! What the model reads: the stable prefix, and what it is to know beside the conversation; only the parts that
//! the agent's kind wants.

use std::sync::Arc;

use entourage_store::Write;
use entourage_types::{ItemBody, Sha256};

use crate::prompt::{self, View};
use crate::run::{Result, Run};

impl Run<'_> {
    /// Returns the stable prefix, which is the same for the whole session, and its digest.
    pub(in crate::run) async fn system(&mut self) -> Result<(Arc<str>, Sha256)> {
        if let Some(system) = self.offered.system() {
            return Ok(system);
        }
        let sessions = match self.offered.position().has_sessions {
            true => self.engine.memory(&self.agent).latest_sessions(self.kind.context.summaries()).await?,
            false => Vec::new(),
        };
        Ok(self.offered.keep_system(prompt::system(&self.kind, &sessions)))
    }

    /// Appends what the model is to know beside the conversation and has not read yet, and returns the write
    /// that stores it; none if there is nothing. `coming` is how many messages are appended next.
    ///
    /// The write must be in the commit of the turn that answers a request with this item, or in one before:
    /// if the process dies before that, neither has happened, and both are rendered anew.
    pub(in crate::run) async fn append_context(&mut self, coming: usize) -> Result<Option<Write>> {
        if self.kind.context.sections.is_empty() {
            return Ok(None);
        }
        let view = View::before(self.items(), &self.kind, coming);
        let memory = self.engine.memory(&self.agent);
        // Whatever changes while this is read changes after it, by the time of the item.
        let now = self.engine.now();
        let sections = memory.sections(&self.kind, self.offered.tools(), &view).await?;
        let unread = sections.unread(&self.kind.context, &view, now);
        Ok(unread.map(|context| self.append(ItemBody::Context(context), now)))
    }

    /// Returns how many bytes all of it has, read or not.
    pub(in crate::run) async fn whole_context(&self) -> Result<usize> {
        let (memory, nothing) = (self.engine.memory(&self.agent), View::of(&[], &self.kind));
        let sections = memory.sections(&self.kind, self.offered.tools(), &nothing).await?;
        let now = self.engine.now();
        let texts = self.kind.context.sections.iter().filter_map(|section| sections.whole(*section, now));
        Ok(texts.map(|text| text.len()).sum())
    }
}
