//! Owners are isolated: a tree and everything in it belongs to one owner, and no read showed
//! another owner's rows.

use entourage_types::{AgentId, Owner};

use super::{Found, Invariant::Owners, Snapshot};
use crate::Fact;

pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    let agents = whole.agents.iter().map(|agent| (agent.root, &agent.owner, agent.id.to_string()));
    let runs = whole.runs.iter().map(|run| (run.agent, &run.owner, run.id.to_string()));
    let tasks = whole.tasks.iter().map(|task| (task.from, &task.owner, task.id.to_string()));
    let questions = whole.questions.iter().map(|one| (one.agent, &one.owner, one.id.to_string()));
    let wakeups = whole.wakeups.iter().map(|one| (one.agent, &one.owner, one.id.to_string()));
    for (agent, owner, row) in agents.chain(runs).chain(tasks).chain(questions).chain(wakeups) {
        belongs(whole, agent, owner, &row, found);
    }
}

fn belongs(whole: &Snapshot, agent: AgentId, owner: &Owner, row: &str, found: &mut Found) {
    let whose = whole.agent(agent).map(|agent| &agent.owner);
    found.must(whose == Some(owner), Owners, agent, || {
        format!("{row} belongs to {owner}, its agent to {}", whose.map_or("nobody", Owner::as_str))
    });
}

pub(super) fn check_shown(facts: &[Fact], found: &mut Found) {
    for fact in facts {
        if let Fact::Shown { to, of } = fact {
            found.add(Owners, None, format!("a read for {to} returned a row of {of}"));
        }
    }
}
