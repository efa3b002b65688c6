//! The sums that the store keeps of each branch are those of its agents, their open questions and their runs.

use std::collections::BTreeMap;

use entourage_store::Subtree;
use entourage_types::{AgentId, QuestionStatus};

use super::{Found, Invariant, Snapshot};

pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    let mut counted: BTreeMap<AgentId, Subtree> =
        whole.agents.iter().map(|agent| (agent.id, Subtree::default())).collect();
    for agent in &whole.agents {
        in_branches_of(whole, agent.id, &mut counted, |sums| sums.agents[agent.shown().index()] += 1);
    }
    for question in whole.questions.iter().filter(|question| question.status == QuestionStatus::Open) {
        in_branches_of(whole, question.agent, &mut counted, |sums| sums.open_questions += 1);
    }
    for run in &whole.runs {
        in_branches_of(whole, run.agent, &mut counted, |sums| sums.used += run.tally());
    }
    for (agent, sums) in &whole.branches {
        let counted = counted.get(agent);
        found.must(counted == Some(sums), Invariant::Usage, *agent, || {
            format!("the sums of its branch are {sums:?}; its agents add up to {counted:?}")
        });
    }
}

/// Changes the sums of each agent whose branch this agent belongs to.
fn in_branches_of(
    whole: &Snapshot,
    agent: AgentId,
    counted: &mut BTreeMap<AgentId, Subtree>,
    change: impl Fn(&mut Subtree),
) {
    let mut next = whole.agent(agent);
    while let Some(agent) = next {
        counted.entry(agent.id).and_modify(&change);
        next = agent.parent.and_then(|parent| whole.agent(parent));
    }
}
