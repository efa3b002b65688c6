//! The switches of tools: a run reads them when it begins and stays with them, so that its prompt's prefix is stable.

use entourage_store::Result;
use entourage_types::{Agent, Scope, SwitchScope, Switches, ToolSwitches};

use crate::Engine;

impl Engine {
    /// The switches for the next run of an agent: those of its tree, and those of its owner that the tree says nothing
    /// about (S4-R075, S4-R081). Reads nothing where no server is in the catalogue.
    pub(crate) async fn switches_for(&self, agent: &Agent) -> Result<Switches> {
        if self.inner.servers.is_empty() {
            return Ok(Switches::default());
        }
        let of_tree = self.switches_of(agent, SwitchScope::Tree(agent.root)).await?;
        let of_owner = self.switches_of(agent, SwitchScope::Owner(agent.owner.clone())).await?;
        Ok(of_tree.over(of_owner))
    }

    async fn switches_of(&self, agent: &Agent, of: SwitchScope) -> Result<Switches> {
        let found = self.store().record::<ToolSwitches>(&Scope::from(&agent.owner), of).await?;
        Ok(found.map(|found| found.switches).unwrap_or_default())
    }
}
