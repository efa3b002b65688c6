//! What the model is offered: the tools that fit the agent's position, and the stable prefix of its prompt.

use std::sync::Arc;

use entourage_store::Write;
use entourage_types::{Item, Sha256};

use super::Run;
use crate::{
    digest::sha256,
    prompt::is_cut,
    toolset::{Position, Toolset},
};

/// The offer for the agent's current position.
pub(super) struct Offered {
    toolset: Arc<Toolset>,
    position: Position,
    /// The stable prefix, once it has been rendered, and its digest.
    system: Option<(Arc<str>, Sha256)>,
    /// Whether what is new beside the conversation was appended since the last model call.
    has_context: bool,
}

impl Offered {
    pub(super) fn new(toolset: Arc<Toolset>, position: Position) -> Self {
        Self { toolset, position, system: None, has_context: false }
    }

    pub(super) fn tools(&self) -> &Arc<Toolset> {
        &self.toolset
    }

    pub(super) fn position(&self) -> Position {
        self.position
    }

    pub(super) fn system(&self) -> Option<(Arc<str>, Sha256)> {
        self.system.clone()
    }

    /// Keeps the prefix for the session.
    pub(super) fn keep_system(&mut self, system: Arc<str>) -> (Arc<str>, Sha256) {
        let digest = sha256(&system);
        self.system.insert((system, digest)).clone()
    }

    /// Notes that what is new beside the conversation stands before the message that the model answers next.
    pub(super) fn note_context(&mut self) {
        self.has_context = true;
    }

    /// Whether [`note_context`](Self::note_context) was called since the last model call.
    pub(super) fn take_noted_context(&mut self) -> bool {
        std::mem::take(&mut self.has_context)
    }

    /// Drops the prefix: the next session has its own.
    pub(super) fn forget_system(&mut self) {
        self.system = None;
    }
}

impl Run<'_> {
    /// Offers the tool that reads a whole item, once the prompt shows an item cut, if it was not offered before.
    pub(super) fn offer_for(&mut self, item: &Item) {
        if !self.offered.position.has_cuts && is_cut(&item.body, self.kind.limits.max_output_chars) {
            self.renew_offer();
        }
    }

    /// Offers the tools of the program, or those of the model again.
    pub(super) fn offer_to_program(&mut self, by_program: bool) {
        self.offered.position.by_program = by_program;
        self.renew_tools();
    }

    /// Determines the agent's position again, and offers what fits it.
    pub(super) fn renew_offer(&mut self) {
        let by_program = self.offered.position.by_program;
        let position = Position::of(&self.agent, &self.kind, self.transcript.items());
        self.offered.position = Position { by_program, ..position };
        self.renew_tools();
    }

    /// Returns the write that stores the tools on offer, by which requests are rebuilt; none if they are known
    /// to be stored.
    pub(super) fn keep_tools(&self) -> super::Result<Option<Write>> {
        Ok(self.engine.inner.tool_lists.keep(&self.offered.toolset, self.engine.now())?)
    }

    /// Offers the tools that exist by now.
    pub(super) fn renew_tools(&mut self) {
        let (offers, owner) = (&self.engine.inner.toolsets, &self.agent.owner);
        self.offered.toolset =
            offers.of(&self.kind, self.offered.position, owner, || self.engine.offered_from());
    }
}
