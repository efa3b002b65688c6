//! The names that callers give agents.

use entourage_store::Versioned;
use entourage_types::{Agent, AgentId, AgentName, Annotations};

use crate::{Client, Error, Result};

/// The longest name that a caller may give an agent, in bytes: it is part of addresses.
const LONGEST: usize = 200;
/// What stands for something else in addresses of the explorations' API (S3-R100).
const RESERVED: [&str; 5] = ["tree", "stream", "stream-token", "ws", "active"];

impl Client {
    /// The agent that a caller knows by this name, or that has this id.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn named_agent(&self, name: &str) -> Result<Agent> {
        if let Some(named) = self.holder(name).await? {
            // Its tree may have been forgotten.
            return match self.agent(named.record.agent).await {
                Err(Error::NotFound { .. }) => Err(Error::not_found("agent", name)),
                agent => agent,
            };
        }
        match name.parse::<AgentId>() {
            Ok(id) => self.agent(id).await,
            Err(_) => Err(Error::not_found("agent", name)),
        }
    }

    /// Which agent a name was given last, if any.
    pub(super) async fn holder(&self, name: &str) -> Result<Option<Versioned<AgentName>>> {
        if name.len() > LONGEST {
            return Ok(None);
        }
        Ok(self.engine.store().versioned(&self.scope, AgentName::id_of(&self.owner, name)).await?)
    }

    /// The name by which an agent is known: the one that it was given, as long as that leads to it, and otherwise its id.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn agent_name(&self, agent: AgentId) -> Result<String> {
        let set: Option<Annotations> = self.engine.store().record(&self.scope, agent).await?;
        self.current_name(agent, set.and_then(|set| set.name)).await
    }

    /// The same, for an agent that was given this name.
    pub(super) async fn current_name(&self, agent: AgentId, given: Option<String>) -> Result<String> {
        let Some(name) = given else { return Ok(agent.to_string()) };
        let holder = self.holder(&name).await?;
        let is_its_own = holder.is_some_and(|holder| holder.record.agent == agent);
        Ok(if is_its_own { name } else { agent.to_string() })
    }

    /// What was set of an agent, with the version of that; nothing has the version 0.
    pub(super) async fn annotations(&self, agent: &Agent) -> Result<Versioned<Annotations>> {
        let found = self.engine.store().versioned(&self.scope, agent.id).await?;
        let nothing = || Versioned { record: Annotations::of(agent, self.engine.now()), version: 0 };
        Ok(found.unwrap_or_else(nothing))
    }

    /// Refuses what cannot name an agent.
    pub(super) async fn checked_agent_name(&self, name: &str) -> Result<()> {
        let refused = |why: &str| Err(Error::Invalid(format!("this cannot be an agent's id: {why}")));
        if name.is_empty() || name.len() > LONGEST {
            return refused(&format!("it has {} bytes; 1 to {LONGEST} are taken", name.len()));
        }
        if name.contains(|c: char| c.is_control() || c.is_whitespace() || ['/', '?', '#'].contains(&c)) {
            return refused("it has a blank, a control character, `/`, `?` or `#`");
        }
        if RESERVED.contains(&name) || name == "." || name == ".." {
            return refused(&format!("`{name}` stands for something else in addresses"));
        }
        // Two agents of one owner would go by it.
        let Ok(id) = name.parse::<AgentId>() else { return Ok(()) };
        match self.agent(id).await {
            Ok(_) => refused("another agent has it as its own id"),
            Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
