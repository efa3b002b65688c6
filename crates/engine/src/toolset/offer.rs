//! What an agent is offered, by its kind, its owner and its run.

use std::sync::Arc;

use entourage_types::{Kind, ResultSource};

use super::{Holder, Position, Toolset};
use crate::Engine;

impl Engine {
    /// What an agent of this kind is offered.
    pub(crate) fn offer(&self, kind: &Arc<Kind>, position: Position, holder: &Holder<'_>) -> Arc<Toolset> {
        self.inner.toolsets.of(kind, position, holder, || self.offered_from())
    }

    /// Where the results of a tool come from; none if there is no such tool. Those of a server that is connected for each
    /// owner apart are not among the tools of all.
    pub(crate) fn source(&self, tool: &str) -> Option<ResultSource> {
        let of_owner = || self.inner.servers.of_tool(tool).filter(|server| server.is_of_owners());
        self.inner.toolsets.source(tool).or_else(|| of_owner().map(|_| ResultSource::Private))
    }
}
