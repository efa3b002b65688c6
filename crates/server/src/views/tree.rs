//! A tree of agents, nested, as the API shows it.

use std::collections::HashMap;

use entourage_engine::TreeUsage;
use entourage_types::{Agent, AgentId};
use serde::Serialize;
use utoipa::ToSchema;

use super::{AgentView, TallyView, TreeUsageView};

/// A tree of agents with what it used.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tree)]
pub(crate) struct TreeView {
    /// The agent at the top, with all below it; in a chat, the one that got the first message.
    root: NodeView,
    /// The other agents that people wrote to in the same chat, each with all below it; empty elsewhere.
    threads: Vec<NodeView>,
    /// How many agents the tree has.
    agents: u64,
    /// What they used together.
    total: TreeUsageView,
}

/// An agent with those that it created.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Node)]
struct NodeView {
    /// The agent.
    #[serde(flatten)]
    agent: AgentView,
    /// What its own runs used.
    used: TallyView,
    /// The agents that it created, in the order in which it did.
    #[schema(no_recursion)]
    children: Vec<NodeView>,
}

impl TreeView {
    /// Builds the tree of these agents, which are in order with parents before children; `None` if there are
    /// none.
    pub(crate) fn new(agents: Vec<Agent>, used: &TreeUsage) -> Option<Self> {
        let count = agents.len() as u64;
        let mut below: HashMap<AgentId, Vec<NodeView>> = HashMap::new();
        let mut threads = Vec::new();
        let mut root = None;
        // From the last to the first: each agent finds its children ready, and joins its parent's.
        for agent in agents.into_iter().rev() {
            let (id, parent, is_root) = (agent.id, agent.parent, agent.id == agent.root);
            let mut children = below.remove(&id).unwrap_or_default();
            children.reverse();
            let own = used.by_agent.get(&id).copied().unwrap_or_default().into();
            let node = NodeView { agent: agent.into(), used: own, children };
            match parent {
                Some(parent) => below.entry(parent).or_default().push(node),
                None if is_root => root = Some((id, node)),
                None => threads.push(node),
            }
        }
        threads.reverse();
        let (id, root) = root?;
        let total = TreeUsageView::new(id, used);
        Some(Self { root, threads, agents: count, total })
    }
}
