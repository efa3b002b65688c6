//! The removal of agents and records, and what is left of the events about those that are forgotten.

use entourage_types::{AgentId, BudgetId, Entity, EventBody, Parent};

use super::rows::Rows;
use crate::{BudgetChange, Forgotten, SpentBy};

impl Rows {
    pub(super) fn prune(&mut self, id: AgentId, forgotten: &mut Forgotten) {
        let kind = self.agent(id).map(|agent| agent.kind.clone());
        self.agents.retain(|agent| agent.id != id);
        let of_agent = self.runs.iter().filter(|run| run.agent == id);
        self.removed.extend(of_agent.map(|run| {
            let (owner, kind) = (run.owner.clone(), kind.clone());
            (SpentBy { owner, kind, tree: None, agent: None, run: None }, run.spent.clone())
        }));
        self.runs.retain(|run| run.agent != id);
        self.settle(id, &BudgetChange::lost());
        self.budgets.remove(&BudgetId::Tree(id));
        self.steps.retain(|run, _| self.runs.iter().any(|kept| kept.id == *run));
        self.wakeups.retain(|_, wakeup| wakeup.agent != id);
        self.items.remove(&id);
        self.inbox.remove(&id);
        self.events.remove(&id);
        self.claims.remove(&id);
        // Events of the tree refer to items by number; these items no longer exist.
        for event in self.events.values_mut().flatten().filter(|event| event.agent == id) {
            if let EventBody::Item { item, .. } = &mut event.body {
                *item = None;
            }
        }
        let of_it = |record: &Entity| record.root == Some(id) || record.parent == Some(Parent::Agent(id));
        self.prune_records(of_it, forgotten);
    }

    /// Removes records, with all that belong to them.
    pub(super) fn prune_records(&mut self, is_pruned: impl Fn(&Entity) -> bool, forgotten: &mut Forgotten) {
        let (mut gone, mut kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.entities).into_iter().partition(|record| is_pruned(record));
        while let Some(record) = gone.pop() {
            forgotten.removed(record.kind, record.id.clone(), record.root);
            let parent = Some(Parent::Record(record.kind, record.id));
            let (below, others) = kept.into_iter().partition(|other: &Entity| other.parent == parent);
            gone.extend::<Vec<_>>(below);
            kept = others;
        }
        self.entities = kept;
    }

    /// Takes the texts out of the events about what is forgotten.
    pub(super) fn forget(&mut self, forgotten: &Forgotten) {
        for root in forgotten.roots() {
            for event in self.events.get_mut(&root).into_iter().flatten() {
                if let Some(left) = forgotten.left_of(event.agent, &event.body) {
                    event.body = left;
                }
            }
        }
    }
}
