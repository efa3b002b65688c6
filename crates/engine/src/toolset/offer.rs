//! What an agent is offered, by its kind, its owner and the switches of its run.

use std::sync::Arc;

use entourage_types::{Kind, Owner, Switches};

use super::{Holder, Position, Toolset};
use crate::Engine;

impl Engine {
    /// What an agent of this kind and owner is offered, with these switches.
    pub(crate) fn offer(
        &self,
        kind: &Arc<Kind>,
        position: Position,
        (owner, switches): (&Owner, &Switches),
    ) -> Arc<Toolset> {
        let servers = &self.inner.servers;
        let is_off = |tool: &str| {
            let server = if switches.is_empty() { None } else { servers.of_tool(tool) };
            server.is_some_and(|server| !switches.allow(&server.name, tool))
        };
        let of_owner = servers.serving(owner).filter(|server| server.is_of_owners()).filter_map(|server| {
            let (state, tools) = servers.of_owners().tools(owner, &server.name)?;
            Some((server.name.clone(), state, tools))
        });
        let holder = Holder { owner, is_off: &is_off, of_owner: of_owner.collect() };
        self.inner.toolsets.of(kind, position, &holder, || self.offered_from())
    }
}
