//! A tree of agents, nested.

use std::collections::HashMap;

use entourage_types::AgentId;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::{Agent, Tally, TreeUsage};

/// A tree of agents with what it used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tree {
    /// The agent at the top, with all below it; in a chat, the one that got the first message.
    #[serde(deserialize_with = "node")]
    pub root: Node,
    /// The other agents that people wrote to in the same chat, each with all below it; empty elsewhere.
    #[serde(deserialize_with = "nodes")]
    pub threads: Vec<Node>,
    /// How many agents the tree has.
    pub agents: u64,
    /// What they used together.
    pub total: TreeUsage,
}

/// An agent with those that it created.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Node {
    /// The agent.
    #[serde(flatten)]
    pub agent: Agent,
    /// What its own runs used.
    pub used: Tally,
    /// The agents that it created, in the order in which it did.
    #[schema(no_recursion)]
    pub children: Vec<Self>,
}

/// A node whose children are still JSON: they may be nested deeper than a parser allows at once.
#[derive(Deserialize)]
struct Top {
    #[serde(flatten)]
    agent: Agent,
    used: Tally,
    children: Vec<Box<RawValue>>,
}

impl Tree {
    /// The tree of these nodes, which are in order with parents before children; none without a root.
    #[must_use]
    pub fn of(nodes: Vec<Node>, total: TreeUsage) -> Option<Self> {
        let agents = nodes.len() as u64;
        let mut below: HashMap<AgentId, Vec<Node>> = HashMap::new();
        let (mut root, mut threads) = (None, Vec::new());
        // From the last to the first: each agent finds its children ready, and joins its parent's.
        for mut node in nodes.into_iter().rev() {
            node.children = below.remove(&node.agent.id).unwrap_or_default();
            node.children.reverse();
            match node.agent.parent {
                Some(parent) => below.entry(parent).or_default().push(node),
                None if node.agent.id == node.agent.root => root = Some(node),
                None => threads.push(node),
            }
        }
        threads.reverse();
        Some(Self { root: root?, threads, agents, total })
    }

    /// Its agents in a row, parents before children.
    #[must_use]
    pub fn into_agents(self) -> Vec<Agent> {
        let mut agents = Vec::new();
        let mut left: Vec<Node> = self.threads.into_iter().rev().chain([self.root]).collect();
        while let Some(Node { agent, children, .. }) = left.pop() {
            agents.push(agent);
            left.extend(children.into_iter().rev());
        }
        agents
    }
}

impl Node {
    fn read(written: &RawValue) -> serde_json::Result<Self> {
        let Top { agent, used, children } = serde_json::from_str(written.get())?;
        let children = children.iter().map(|child| Self::read(child)).collect::<Result<_, _>>()?;
        Ok(Self { agent, used, children })
    }
}

fn node<'de, D: Deserializer<'de>>(from: D) -> Result<Node, D::Error> {
    Node::read(&Box::<RawValue>::deserialize(from)?).map_err(D::Error::custom)
}

fn nodes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Node>, D::Error> {
    let written = Vec::<Box<RawValue>>::deserialize(from)?;
    written.iter().map(|node| Node::read(node)).collect::<Result<_, _>>().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

    use entourage_types::{Agent, Owner, Time};

    use super::*;

    #[test]
    fn a_nested_tree_is_read_as_written_and_has_its_agents_in_their_order() {
        let (now, tally) = (Time::now(), Tally::default());
        let root = Agent::root(Owner::local(), "assistant", "", now);
        let child = root.child("researcher", "", None, now);
        let below = child.child("general", "", None, now);
        let sibling = root.child("general", "", None, now);
        let thread = Agent { root: root.id, ..Agent::root(Owner::local(), "assistant", "", now) };
        let agents = [root.clone(), child, below, sibling, thread].map(crate::Agent::from);
        let (usage, cost) = (tally.usage, tally.cost);
        let total = TreeUsage { root: root.id, runs: 0, model_calls: 0, usage, cost, unpriced: 0 };
        let node = |agent| Node { agent, used: tally, children: Vec::new() };
        let tree = Tree::of(agents.clone().map(node).to_vec(), total).unwrap();
        assert_eq!((tree.agents, tree.root.children.len(), tree.threads.len()), (5, 2, 1));
        let written = serde_json::to_string(&tree).unwrap();
        let read: Tree = serde_json::from_str(&written).unwrap();
        assert_eq!(read, tree);
        assert_eq!(read.into_agents(), agents);
    }
}
