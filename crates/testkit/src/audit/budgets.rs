//! Budgets, counted once more from what was committed: each reservation had room, and the rows say what the commits did.

use std::collections::{BTreeMap, BTreeSet};

use entourage_store::{BudgetChange, Commit, Expect, Result, Store, Write};
use entourage_types::{
    AgentId, Allowance, Amount, Budget, BudgetAction, BudgetId, Event, EventBody, Owner, Scope,
};

use super::{Found, Invariant::Usage, Snapshot};
use crate::Fact;

/// The budgets as the commits so far have left them.
#[derive(Default)]
struct Counted {
    budgets: BTreeMap<BudgetId, Budget>,
    reserved: BTreeMap<(BudgetId, AgentId), Amount>,
}

impl Counted {
    fn budget(&mut self, id: &BudgetId) -> &mut Budget {
        self.budgets.entry(id.clone()).or_insert_with(|| Budget::unused(id.clone(), Owner::local()))
    }

    /// Ends what an agent has reserved in any budget.
    fn settle(&mut self, agent: AgentId, change: &BudgetChange) {
        let (ends, goes_on): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.reserved).into_iter().partition(|((_, holder), _)| *holder == agent);
        self.reserved = goes_on.into_iter().collect();
        for ((id, _), amount) in ends {
            change.apply(self.budget(&id), Some(amount));
        }
    }
}

/// The budgets of days in which something was reserved, as far as the store keeps them.
pub(super) async fn of_days(store: &dyn Store, facts: &[Fact]) -> Result<Vec<Budget>> {
    let commits = facts.iter().filter_map(|fact| match fact {
        Fact::Committed(commit) => Some(commit),
        _ => None,
    });
    let days: BTreeSet<&BudgetId> = commits
        .flat_map(|commit| &commit.writes)
        .filter_map(|write| match write {
            Write::Budget(BudgetChange::Reserve { budget: day @ BudgetId::Day(..), .. }) => Some(day),
            _ => None,
        })
        .collect();
    let mut budgets = Vec::new();
    for day in days {
        budgets.extend(store.budget(&Scope::All, day).await?);
    }
    Ok(budgets)
}

pub(super) fn check(whole: &Snapshot, of_days: &[Budget], facts: &[Fact], found: &mut Found) {
    let mut counted = Counted::default();
    for fact in facts {
        if let Fact::Committed(commit) = fact {
            take(commit, &mut counted, found);
        }
    }
    for budget in &whole.budgets {
        let BudgetId::Tree(root) = &budget.id else { continue };
        let events = whole.events.get(root).map_or(&[][..], Vec::as_slice);
        // Unless some were pruned, the events tell all.
        if events.first().is_some_and(|first| first.seq == 1) {
            let told = granted(events);
            found.must(told == budget.granted, Usage, *root, || {
                format!("its events tell of {told:?} granted, and {:?} is on record", budget.granted)
            });
        }
    }
    let amounts = |budget: &Budget| (budget.spent, budget.presumed, budget.reserved, budget.granted);
    for budget in whole.budgets.iter().chain(of_days) {
        let expected = amounts(counted.budget(&budget.id));
        found.must(amounts(budget) == expected, Usage, None, || {
            format!("the commits add up to {expected:?}; the budget is {budget:?}")
        });
    }
}

/// What people granted a tree and did not take back, as its events tell it.
fn granted(events: &[Event]) -> Amount {
    let mut sum = Amount::default();
    for event in events {
        match event.body {
            EventBody::Budget { action: BudgetAction::Grant, amount, .. } => sum += amount,
            EventBody::Budget { action: BudgetAction::TakeBack, amount, .. } => sum -= amount,
            _ => {}
        }
    }
    sum
}

fn take(commit: &Commit, counted: &mut Counted, found: &mut Found) {
    let writer = commit.fence.map(|fence| fence.agent);
    for write in &commit.writes {
        match (write, writer) {
            (Write::Budget(change @ BudgetChange::Reserve { budget: id, amount }), Some(agent)) => {
                let holder = (id.clone(), agent);
                let before = counted.reserved.get(&holder).copied();
                let budget = counted.budget(id);
                let left = allowed(commit, id).map(|allowance| budget.left(allowance));
                let has_room = left.is_some_and(|left| left.holds(*amount));
                found.must(has_room, Usage, agent, || {
                    format!("{amount:?} is reserved in {budget:?}, which has {left:?} left")
                });
                if let Some(held) = change.apply(budget, before) {
                    counted.reserved.insert(holder, held);
                }
            }
            (Write::Budget(change @ BudgetChange::Settle { .. }), Some(agent)) => {
                counted.settle(agent, change);
            }
            (Write::Budget(change @ BudgetChange::Granted { tree, action, amount, .. }), _) => {
                let id = BudgetId::Tree(*tree);
                let budget = counted.budget(&id);
                let left = allowed(commit, &id).map(|allowance| budget.left(allowance));
                let is_left = *action == BudgetAction::Grant || left.is_some_and(|left| left.holds(*amount));
                found.must(is_left, Usage, *tree, || {
                    format!("{amount:?} is taken back of {budget:?}, which has {left:?} left")
                });
                change.apply(budget, None);
            }
            (Write::PruneAgent(agent), _) => {
                counted.settle(*agent, &BudgetChange::lost());
                counted.budgets.remove(&BudgetId::Tree(*agent));
            }
            _ => {}
        }
    }
}

/// The allowance of a budget that the author of a commit knew.
fn allowed(commit: &Commit, budget: &BudgetId) -> Option<Allowance> {
    commit.expect.iter().find_map(|expected| match expected {
        Expect::Affords(id, allowance, _) if id == budget => Some(*allowance),
        _ => None,
    })
}
