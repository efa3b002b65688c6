//! What a commit depends on, read inside the transaction that writes.

use entourage_store::judge::{Find, RecordState};
use entourage_types::{Agent, AgentId, EntityKind, RunId, Time};
use rusqlite::Connection;

use crate::{
    agents, entities,
    fault::{Fault, Result},
    prune,
    writer_cache::WriterCache,
};

/// The rows, and what the writer knows of them without a query.
pub(crate) struct Rows<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) cache: &'a mut WriterCache,
}

impl Find for Rows<'_> {
    type Error = Fault;

    fn writer(&mut self, agent: AgentId) -> Result<Option<Agent>> {
        self.cache.agent(self.connection, agent)
    }

    fn exists(&mut self, agent: AgentId) -> Result<bool> {
        self.cache.has_agent(self.connection, agent)
    }

    fn in_place_of(&mut self, new: &Agent) -> Result<Option<AgentId>> {
        agents::in_place_of(self.connection, new)
    }

    fn run(&mut self, run: RunId) -> Result<Option<AgentId>> {
        self.cache.agent_of_run(self.connection, run)
    }

    fn record(&mut self, kind: EntityKind, id: &str) -> Result<Option<RecordState>> {
        entities::standing(self.connection, kind, id)
    }

    fn agents_of_tree(&mut self, root: AgentId) -> Result<u32> {
        agents::count_in_tree(self.connection, root)
    }

    fn children(&mut self, parent: AgentId) -> Result<u32> {
        agents::count_children(self.connection, parent)
    }

    fn stirs(&mut self, root: AgentId, since: Time) -> Result<bool> {
        prune::stirs(self.connection, root, since)
    }

    fn dependents(&mut self, agent: AgentId) -> Result<Vec<AgentId>> {
        prune::dependents(self.connection, agent)
    }
}
