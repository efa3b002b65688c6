//! What the judge of a commit asks the rows.

use entourage_types::{
    Agent, AgentId, Amount, Budget, BudgetId, Entity, EntityKind, Owner, RunId, Status, Time,
};

use super::Rows;
use crate::{
    Error, InboxSize, Result,
    judge::{Facts, RecordState, conflicts},
};

impl Facts for &Rows {
    type Error = Error;

    fn agent(&mut self, id: AgentId) -> Result<Option<Agent>> {
        Ok(Rows::agent(self, id).cloned())
    }

    fn agent_exists(&mut self, id: AgentId) -> Result<bool> {
        Ok(Rows::agent(self, id).is_some())
    }

    fn conflicting_agent(&mut self, new: &Agent) -> Result<Option<AgentId>> {
        Ok(self.agents.iter().find(|agent| conflicts(agent, new)).map(|agent| agent.id))
    }

    fn agent_of_run(&mut self, run: RunId) -> Result<Option<AgentId>> {
        Ok(self.runs.iter().find(|known| known.id == run).map(|known| known.agent))
    }

    fn record_state(&mut self, kind: EntityKind, id: &str) -> Result<Option<RecordState>> {
        let state = |entity: &Entity| RecordState {
            status: entity.status.clone(),
            version: entity.version,
            owner: entity.owner.clone(),
        };
        Ok(self.entity(kind, id).map(state))
    }

    fn holder_of_name(&mut self, kind: EntityKind, owner: &Owner, name: &str) -> Result<Option<String>> {
        let has_it = |record: &&Entity| {
            (record.kind, &record.owner, record.name.as_deref()) == (kind, owner, Some(name))
        };
        Ok(self.entities.iter().find(has_it).map(|record| record.id.clone()))
    }

    fn is_living(&mut self, id: AgentId) -> Result<bool> {
        Ok(Rows::agent(self, id).is_some_and(|agent| self.lives(agent)))
    }

    fn count_living_in_tree(&mut self, root: AgentId) -> Result<u32> {
        Ok(self.count_agents(|agent| agent.root == root && self.lives(agent)))
    }

    fn count_living_children(&mut self, parent: AgentId) -> Result<u32> {
        Ok(self.count_agents(|agent| agent.parent == Some(parent) && self.lives(agent)))
    }

    fn count_created(&mut self, root: AgentId, since: Time) -> Result<u32> {
        Ok(self.count_agents(|agent| agent.root == root && agent.created >= since))
    }

    fn has_undeleted_child(&mut self, parent: AgentId) -> Result<bool> {
        let is_left = |agent: &Agent| agent.parent == Some(parent) && agent.status != Status::Cancelled;
        Ok(self.agents.iter().any(is_left))
    }

    fn has_posts_or_wakeups(&mut self, agent: AgentId) -> Result<bool> {
        Ok(self.has_posts(agent) || self.wakeups.values().any(|wakeup| wakeup.agent == agent))
    }

    fn inbox_size(&mut self, agent: AgentId, most: u32) -> Result<InboxSize> {
        let mut size = InboxSize::default();
        for post in self.inbox.get(&agent).into_iter().flatten().take(most as usize) {
            size.posts += 1;
            size.bytes += serde_json::to_string(&post.body)?.len() as u64;
        }
        Ok(size)
    }

    fn last_created(&mut self, root: AgentId) -> Result<Option<AgentId>> {
        Ok(self.agents.iter().rfind(|agent| agent.root == root).map(|agent| agent.id))
    }

    fn budget(&mut self, id: &BudgetId) -> Result<Option<Budget>> {
        Ok(Rows::budget(self, id).cloned())
    }

    fn reservation(&mut self, id: &BudgetId, agent: AgentId) -> Result<Option<Amount>> {
        Ok(self.reservations.get(&(id.clone(), agent)).copied())
    }

    fn is_active_since(&mut self, root: AgentId, since: Time) -> Result<bool> {
        let is_active = |agent: &Agent| {
            matches!(agent.status, Status::Queued | Status::Running | Status::Waiting)
                || agent.updated > since
                || self.has_posts(agent.id)
                || self.is_woken(agent.id)
        };
        Ok(self.agents.iter().any(|agent| agent.root == root && is_active(agent)))
    }

    fn dependents(&mut self, agent: AgentId) -> Result<Vec<AgentId>> {
        let depends =
            |other: &&Agent| other.parent == Some(agent) || (other.root == agent && other.id != agent);
        Ok(self.agents.iter().filter(depends).map(|other| other.id).collect())
    }
}
