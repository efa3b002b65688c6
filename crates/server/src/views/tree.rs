//! A tree of agents, and what it used.

use std::collections::HashMap;

use entourage_api::{Node, Tree, TreeUsage};
use entourage_types::{Agent, AgentId, Tally};

/// The tree of these agents, which are in order with parents before children; none without a root. `names` are those that
/// they were given.
pub(crate) fn tree(
    agents: Vec<Agent>,
    used: &entourage_engine::TreeUsage,
    names: &HashMap<AgentId, String>,
) -> Option<Tree> {
    let total = tree_usage(agents.first()?.root, used);
    let node = |agent: Agent| {
        let used = used.by_agent.get(&agent.id).copied().unwrap_or_default().into();
        let name = names.get(&agent.id).cloned();
        let agent = entourage_api::Agent { name, ..agent.into() };
        Node { agent, used, children: Vec::new() }
    };
    Tree::of(agents.into_iter().map(node).collect(), total)
}

/// The sum over the runs of a tree.
pub(crate) fn tree_usage(root: AgentId, used: &entourage_engine::TreeUsage) -> TreeUsage {
    let Tally { calls, unpriced, usage, cost } = used.total();
    TreeUsage { root, runs: used.runs, model_calls: calls, usage: usage.into(), cost, unpriced }
}
