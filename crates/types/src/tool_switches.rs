//! Which MCP servers, and which single tools of theirs, are switched on and off: for an owner, and for a tree.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{AgentId, Columns, EntityKind, KeptStatus, NewEvent, Owner, Record, Time, status::words};

words! {
    /// Whether a server or a tool may be used.
    Switch, "position of a switch" {
        /// It may be used.
        On => "on",
        /// It may not be used.
        Off => "off",
    }
}

/// Switches by the name of a server, or of a single tool: `server__tool`. What has no switch is on (S4-R075).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Switches(BTreeMap<String, Switch>);

/// What separates the name of a server from that of its tool. No name of a server has it, or ends with a part of it.
const SEPARATOR: &str = "__";

impl Switches {
    /// Whether nothing is switched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them, by the name of their server or tool.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Switch)> {
        self.0.iter().map(|(name, switch)| (name.as_str(), *switch))
    }

    /// The servers and tools that have a switch, by name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The switch of this very server or tool.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Switch> {
        self.0.get(name).copied()
    }

    /// Sets the switch of a server or tool, or removes it.
    pub fn set(&mut self, name: &str, switch: Option<Switch>) {
        match switch {
            Some(switch) => drop(self.0.insert(name.to_owned(), switch)),
            None => drop(self.0.remove(name)),
        }
    }

    /// Whether a tool of a server may be used: its own switch counts, or else that of its server.
    #[must_use]
    pub fn allow(&self, tool: &str) -> bool {
        let of_server = || server_of_tool(tool).and_then(|server| self.get(server));
        self.get(tool).or_else(of_server).unwrap_or(Switch::On) == Switch::On
    }

    /// Whether any tool of this server may be used.
    #[must_use]
    pub fn allow_any(&self, server: &str) -> bool {
        let is_on = |(name, switch): (&String, &Switch)| *switch == Switch::On && is_tool_of(server, name);
        self.get(server).unwrap_or(Switch::On) == Switch::On || self.0.iter().any(is_on)
    }

    /// These switches, and those of `wider` that they say nothing about: a switch of a server here takes precedence over
    /// one of its tools there.
    #[must_use]
    pub fn over(self, wider: Self) -> Self {
        let is_said = |name: &str| self.0.keys().any(|own| own == name || is_tool_of(own, name));
        let rest: Vec<_> = wider.0.into_iter().filter(|(name, _)| !is_said(name)).collect();
        let mut switches = self;
        switches.0.extend(rest);
        switches
    }
}

/// The name of the server whose tool this name is; none if it is no tool of a server.
#[must_use]
pub fn server_of_tool(name: &str) -> Option<&str> {
    name.split_once(SEPARATOR).map(|(server, _)| server).filter(|server| !server.is_empty())
}

/// Whether this names a tool of the server.
#[must_use]
pub fn is_tool_of(server: &str, name: &str) -> bool {
    server_of_tool(name) == Some(server)
}

/// Whose switches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchScope {
    /// Those of all agents of an owner.
    Owner(Owner),
    /// Those of a tree: of a goal, with its tasks.
    Tree(AgentId),
}

/// The id of the record. No agent's id has a slash.
impl fmt::Display for SwitchScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(owner) => write!(f, "owner/{owner}"),
            Self::Tree(root) => root.fmt(f),
        }
    }
}

/// The switches of an owner, or of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSwitches {
    /// The user that owns it.
    pub owner: Owner,
    /// The root of the tree; none for all trees of the owner.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub root: Option<AgentId>,
    /// The switches.
    pub switches: Switches,
    /// When something was first switched.
    pub created: Time,
    /// When something was last switched.
    pub updated: Time,
}

impl ToolSwitches {
    /// Whose they are.
    #[must_use]
    pub fn scope(&self) -> SwitchScope {
        self.root.map_or_else(|| SwitchScope::Owner(self.owner.clone()), SwitchScope::Tree)
    }
}

impl Record for ToolSwitches {
    const KIND: EntityKind = EntityKind::TOOL_SWITCHES;
    type Status = KeptStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.scope().to_string(),
            owner: self.owner.clone(),
            root: self.root,
            parent: self.root.map(Into::into),
            status: KeptStatus::Kept.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        self.root.map(|root| NewEvent::of(self, root, root)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(these: &[(&str, Switch)]) -> Switches {
        Switches(these.iter().map(|&(name, switch)| (name.to_owned(), switch)).collect())
    }

    #[test]
    fn the_switch_of_a_tool_takes_precedence_over_that_of_its_server() {
        let some =
            switches(&[("bank", Switch::Off), ("bank__read", Switch::On), ("mail__send", Switch::Off)]);
        assert!(some.allow("bank__read") && some.allow("mail__read") && some.allow("new__tool"));
        assert!(!some.allow("bank__pay") && !some.allow("mail__send"));
        assert!(some.allow_any("bank") && some.allow_any("mail"));
        assert!(!switches(&[("bank", Switch::Off), ("banks__a", Switch::On)]).allow_any("bank"));
        assert!(!switches(&[("bank", Switch::Off)]).allow("bank___of_a_name_with_a_line"));
    }

    #[test]
    fn the_switches_of_a_tree_take_precedence_over_those_of_the_owner() {
        let own = switches(&[("bank", Switch::On), ("mail__send", Switch::On)]);
        let wider = switches(&[("bank__pay", Switch::Off), ("mail", Switch::Off), ("files", Switch::Off)]);
        let both = own.over(wider);
        assert!(both.allow("bank__pay"), "the tree switches the whole server");
        assert!(both.allow("mail__send") && !both.allow("mail__read"));
        assert!(!both.allow("files__read"));
    }
}
