//! What the judgement of a commit depends on, read inside the transaction that writes.

use entourage_store::{
    InboxSize,
    judge::{Facts, RecordState},
};
use entourage_types::{Agent, AgentId, Amount, Budget, BudgetId, EntityKind, Owner, RunId, Scope, Time};
use rusqlite::Connection;

use crate::{
    agents, budgets, entities,
    fault::{Fault, Result},
    inbox, prune,
    writer_cache::WriterCache,
};

/// The rows, and what the writer knows of them without a query.
pub(crate) struct Rows<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) cache: &'a mut WriterCache,
}

impl Facts for Rows<'_> {
    type Error = Fault;

    fn agent(&mut self, id: AgentId) -> Result<Option<Agent>> {
        self.cache.agent(self.connection, id)
    }

    fn agent_exists(&mut self, id: AgentId) -> Result<bool> {
        self.cache.has_agent(self.connection, id)
    }

    fn conflicting_agent(&mut self, new: &Agent) -> Result<Option<AgentId>> {
        agents::conflicting(self.connection, new)
    }

    fn agent_of_run(&mut self, run: RunId) -> Result<Option<AgentId>> {
        self.cache.agent_of_run(self.connection, run)
    }

    fn record_state(&mut self, kind: EntityKind, id: &str) -> Result<Option<RecordState>> {
        entities::state(self.connection, kind, id)
    }

    fn holder_of_name(&mut self, kind: EntityKind, owner: &Owner, name: &str) -> Result<Option<String>> {
        entities::holder_of_name(self.connection, kind, owner, name)
    }

    fn is_living(&mut self, id: AgentId) -> Result<bool> {
        let Some(agent) = self.cache.agent(self.connection, id)? else { return Ok(false) };
        Ok(!agent.status.is_terminal() || self.cache.has_posts(self.connection, id)?)
    }

    fn count_living_in_tree(&mut self, root: AgentId) -> Result<u32> {
        Ok(agents::count_living_beside(self.connection, root)? + u32::from(self.is_living(root)?))
    }

    fn count_living_children(&mut self, parent: AgentId) -> Result<u32> {
        let Some(agent) = self.cache.agent(self.connection, parent)? else { return Ok(0) };
        agents::count_living_children(self.connection, agent.root, parent)
    }

    fn count_created(&mut self, root: AgentId, since: Time) -> Result<u32> {
        agents::count_created(self.connection, root, since)
    }

    fn has_undeleted_child(&mut self, parent: AgentId) -> Result<bool> {
        agents::has_undeleted_child(self.connection, parent)
    }

    fn has_posts_or_wakeups(&mut self, agent: AgentId) -> Result<bool> {
        Ok(self.cache.has_posts(self.connection, agent)? || inbox::is_woken(self.connection, agent)?)
    }

    fn inbox_size(&mut self, agent: AgentId, most: u32) -> Result<InboxSize> {
        match self.cache.has_posts(self.connection, agent)? {
            true => inbox::size(self.connection, agent, most),
            false => Ok(InboxSize::default()),
        }
    }

    fn last_created(&mut self, root: AgentId) -> Result<Option<AgentId>> {
        agents::last_created(self.connection, root)
    }

    fn budget(&mut self, id: &BudgetId) -> Result<Option<Budget>> {
        budgets::get(self.connection, &Scope::All, id)
    }

    fn reservation(&mut self, id: &BudgetId, agent: AgentId) -> Result<Option<Amount>> {
        budgets::held(self.connection, id, agent)
    }

    fn is_active_since(&mut self, root: AgentId, since: Time) -> Result<bool> {
        prune::is_active_since(self.connection, root, since)
    }

    fn dependents(&mut self, agent: AgentId) -> Result<Vec<AgentId>> {
        prune::dependents(self.connection, agent)
    }
}
