//! Usage: that of a run is the sum over its turns, decisions and digests, and that of a tree is what its budget says
//! was spent.

use entourage_types::{Amount, Budget, BudgetId, Cost, ItemBody, ModelUse, Parent, Usage};

use super::{Found, Invariant, Snapshot};

pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    for run in &whole.runs {
        let used: Vec<&ModelUse> = whole
            .items(run.agent)
            .iter()
            .filter(|item| item.run == run.id)
            .filter_map(|item| match &item.body {
                ItemBody::Turn(turn) => turn.used.as_ref(),
                ItemBody::Digest(digest) => digest.used.as_ref(),
                ItemBody::Decision(decision) => decision.used.as_ref(),
                _ => None,
            })
            .collect();
        let mut cost = Cost::default();
        used.iter().filter_map(|used| used.cost).for_each(|one| cost += one);
        let usage: Usage = used.iter().map(|used| used.usage).sum();
        let counted = (used.len() as u64, usage, cost);
        let kept = (u64::from(run.model_calls), run.usage, run.cost);
        found.must(counted == kept, Invariant::Usage, run.agent, || {
            format!("{} has the usage {kept:?}; its items add up to {counted:?}", run.id)
        });
    }
    whole.budgets.iter().for_each(|budget| check_budget(whole, budget, found));
}

/// A budget counts what the runs of its tree used, from the first call on, and holds nothing for runs that have ended.
fn check_budget(whole: &Snapshot, budget: &Budget, found: &mut Found) {
    let BudgetId::Tree(root) = budget.id else { return };
    let is_in_tree = |id| whole.agent(id).is_some_and(|agent| agent.root == root);
    // The runs of a forgotten agent are gone.
    let is_forgotten = |parent: &Parent| matches!(parent, Parent::Agent(_));
    if whole.tombstones.iter().any(|tombstone| tombstone.root == root && is_forgotten(&tombstone.of)) {
        return;
    }
    let runs = || whole.runs.iter().filter(|run| is_in_tree(run.agent));
    let mut used = Amount::default();
    runs().for_each(|run| used += Amount { cost: run.cost, tokens: run.usage.tokens() });
    found.must(used == budget.spent, Invariant::Usage, root, || {
        format!("the budget says that {:?} was spent; the runs of its tree used {used:?}", budget.spent)
    });
    let is_over = runs().all(|run| run.status.is_terminal());
    found.must(!is_over || budget.reserved.is_zero(), Invariant::Usage, root, || {
        format!("{:?} is reserved for runs that have ended", budget.reserved)
    });
}
