//! The names that callers give agents.

use std::collections::HashMap;

use entourage_store::{Page, RecordFilter, Versioned};
use entourage_types::{Agent, AgentId, AgentName, Annotations};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use serde_json::{Map, Value};

use super::active::LOOKED_UP;
use crate::{Client, Error, Result};

/// The longest name that a caller may give an agent, in bytes: it is part of addresses.
const LONGEST: usize = 200;
/// What stands for something else in addresses of the explorations' API (S3-R100).
const RESERVED: [&str; 5] = ["tree", "stream", "stream-token", "ws", "active"];

/// Whether a character shows nothing or changes the direction of text: names that differ by it look the same.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

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

    /// The names that these agents were given, in their order, as long as those lead to them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn given_names(&self, agents: &[AgentId]) -> Result<Vec<Option<String>>> {
        let given = |agent: AgentId| async move {
            let name = self.agent_name(agent).await?;
            Ok((name != agent.to_string()).then_some(name))
        };
        stream::iter(agents.iter().copied()).map(given).buffered(LOOKED_UP).try_collect().await
    }

    /// The names that agents of this tree were given, as long as those lead to them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn names_in(&self, root: AgentId) -> Result<HashMap<AgentId, String>> {
        let page = Page::all();
        let filter = RecordFilter::<Annotations> { root: Some(root), page, ..RecordFilter::default() };
        let mut names = HashMap::new();
        for Annotations { agent, name, .. } in self.records(filter).await? {
            if name.is_some() {
                names.insert(agent, self.current_name(agent, name).await?);
            }
        }
        names.retain(|agent, name| *name != agent.to_string());
        Ok(names)
    }

    /// Whether a name is that of an agent: its id, or the name that it was given, whichever agent that leads to by now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn was_named(&self, agent: AgentId, name: &str) -> Result<bool> {
        if name == agent.to_string() {
            return Ok(true);
        }
        let set: Option<Annotations> = self.engine.store().record(&self.scope, agent).await?;
        Ok(set.and_then(|set| set.name).is_some_and(|given| given == name))
    }

    /// The same, for an agent that was given this name.
    pub(super) async fn current_name(&self, agent: AgentId, given: Option<String>) -> Result<String> {
        let Some(name) = given else { return Ok(agent.to_string()) };
        let holder = self.holder(&name).await?;
        let is_its_own = holder.is_some_and(|holder| holder.record.agent == agent);
        Ok(if is_its_own { name } else { agent.to_string() })
    }

    /// What the caller of an agent keeps with it (S3-R095).
    ///
    /// # Errors
    /// When the store fails.
    pub async fn metadata(&self, agent: &Agent) -> Result<Map<String, Value>> {
        Ok(self.annotations(agent).await?.record.metadata)
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
        if name.contains(is_invisible) {
            return refused("it has a character that shows nothing, or that turns the direction of text");
        }
        if name.starts_with('@') {
            return refused("`@` begins words of the command line, such as `@last`");
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
