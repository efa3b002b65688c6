//! What the model is offered: the tools that fit where the agent stands, and the stable prefix of its prompt.

use std::sync::Arc;

use entourage_types::Item;

use super::Run;
use crate::{
    prompt::is_cut,
    toolset::{Position, Toolset},
};

/// The offer, as long as the agent's position does not change.
pub(super) struct Offered {
    toolset: Arc<Toolset>,
    position: Position,
    /// The stable prefix, once it was needed.
    system: Option<Arc<str>>,
}

impl Offered {
    pub(super) fn new(toolset: Arc<Toolset>, position: Position) -> Self {
        Self { toolset, position, system: None }
    }

    pub(super) fn tools(&self) -> &Arc<Toolset> {
        &self.toolset
    }

    pub(super) fn position(&self) -> Position {
        self.position
    }

    pub(super) fn system(&self) -> Option<&Arc<str>> {
        self.system.as_ref()
    }

    /// The prefix is kept for the session.
    pub(super) fn keep_system(&mut self, system: Arc<str>) -> Arc<str> {
        Arc::clone(self.system.insert(system))
    }

    /// The next session has a prefix of its own.
    pub(super) fn forget_system(&mut self) {
        self.system = None;
    }
}

impl Run<'_> {
    /// An item that is cut in the prompt lets the agent read the whole of it.
    pub(super) fn offer_for(&mut self, item: &Item) {
        if !self.offered.position.has_cuts && is_cut(&item.body, self.kind.limits.max_output_chars) {
            self.position_changed();
        }
    }

    /// Offers what fits where the agent stands now.
    pub(super) fn position_changed(&mut self) {
        self.offered.position = Position::of(&self.agent, &self.kind, self.transcript.items());
        self.offer_anew();
    }

    /// Offers the tools that there are by now.
    pub(super) fn offer_anew(&mut self) {
        let (offers, owner) = (&self.engine.inner.offers, &self.agent.owner);
        self.offered.toolset =
            offers.of(&self.kind, self.offered.position, owner, || self.engine.offered_from());
    }
}
