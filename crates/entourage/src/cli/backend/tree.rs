//! A tree of agents as a server sends it.

use entourage_types::{Agent, Cost, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Tree;

/// An agent with its children, which stay as they were sent: they may be nested deeper than the parser allows
/// at once.
#[derive(Deserialize)]
struct Node {
    #[serde(flatten)]
    agent: Agent,
    children: Vec<Box<RawValue>>,
}

impl Node {
    fn flatten_into(written: &RawValue, agents: &mut Vec<Agent>) -> serde_json::Result<()> {
        let Self { agent, children } = serde_json::from_str(written.get())?;
        agents.push(agent);
        children.iter().try_for_each(|child| Self::flatten_into(child, agents))
    }
}

/// A tree, with the threads beside its root.
#[derive(Deserialize)]
pub(super) struct Whole {
    root: Box<RawValue>,
    #[serde(default)]
    threads: Vec<Box<RawValue>>,
    total: Total,
}

#[derive(Deserialize)]
struct Total {
    usage: Usage,
    cost: Cost,
}

impl Whole {
    /// The agents in a row.
    ///
    /// # Errors
    /// When one of them is not an agent.
    pub(super) fn flat(self) -> serde_json::Result<Tree> {
        let Self { root, threads, total: Total { usage, cost } } = self;
        let mut agents = Vec::new();
        let mut tops = [root].into_iter().chain(threads);
        tops.try_for_each(|top| Node::flatten_into(&top, &mut agents))?;
        Ok(Tree { agents, usage, cost })
    }
}
