//! Budgets in random histories.

use std::{collections::BTreeSet, mem::discriminant};

use entourage_types::{Agent, Allowance, Amount, BudgetAction, BudgetId, Cost};
use proptest::prelude::*;

use super::{Known, owner};
use crate::{BudgetChange, Commit, Error, Expect, Write, conformance::sample::at};

/// A budget. Numbers select among the agents that exist by then; a day is counted from the first one.
#[derive(Debug, Clone, Copy)]
pub(super) enum RandomBudget {
    Tree(usize),
    Day { day: u8, stranger: bool },
}

/// What a budget is asked for: money and tokens, or no limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct RandomNeed {
    of: RandomBudget,
    cost: Option<u64>,
    tokens: Option<u64>,
    amount: (u64, u64),
}

/// A change of a budget.
#[derive(Debug, Clone, Copy)]
pub(super) enum RandomChange {
    /// Of the budget of the agent's own tree or owner, unless it tries to use another one.
    Reserve {
        of: RandomBudget,
        foreign: bool,
        amount: (u64, u64),
    },
    Settle {
        used: Option<(u64, u64)>,
    },
    Granted {
        to: usize,
        action: BudgetAction,
        foreign: bool,
        amount: (u64, u64),
    },
}

fn amounts() -> impl Strategy<Value = (u64, u64)> {
    (0..5_u64, 0..5_u64)
}

fn budget() -> impl Strategy<Value = RandomBudget> {
    // With the last of these days, the record of the first one is removed.
    let days = prop_oneof![Just(0_u8), Just(1), Just(32), Just(33)];
    prop_oneof![
        2 => (0..64_usize).prop_map(RandomBudget::Tree),
        1 => (days, any::<bool>()).prop_map(|(day, stranger)| RandomBudget::Day { day, stranger }),
    ]
}

pub(super) fn need() -> impl Strategy<Value = RandomNeed> {
    let limit = || prop::option::weighted(0.8, 0..12_u64);
    (budget(), limit(), limit(), amounts()).prop_map(|(of, cost, tokens, amount)| RandomNeed {
        of,
        cost,
        tokens,
        amount,
    })
}

pub(super) fn change() -> impl Strategy<Value = RandomChange> {
    let foreign = || prop::bool::weighted(0.1);
    prop_oneof![
        4 => (budget(), foreign(), amounts())
            .prop_map(|(of, foreign, amount)| RandomChange::Reserve { of, foreign, amount }),
        2 => prop::option::of(amounts()).prop_map(|used| RandomChange::Settle { used }),
        3 => (0..64_usize, action(), foreign(), amounts())
            .prop_map(|(to, action, foreign, amount)| RandomChange::Granted { to, action, foreign, amount }),
    ]
}

fn action() -> impl Strategy<Value = BudgetAction> {
    prop_oneof![2 => Just(BudgetAction::Grant), 1 => Just(BudgetAction::TakeBack)]
}

fn amount((cost, tokens): (u64, u64)) -> Amount {
    Amount { cost: Cost::from_nanos(cost), tokens }
}

impl Known {
    fn budget(&self, of: RandomBudget) -> BudgetId {
        match of {
            RandomBudget::Tree(nth) => BudgetId::Tree(self.agent(nth).root),
            RandomBudget::Day { day, stranger } => {
                let day = (0..day).fold(at(0).day(), |day, _| day.next());
                BudgetId::Day(day, owner(stranger))
            }
        }
    }

    /// What a commit expects: room, or too little of it.
    pub(super) fn room(&self, need: RandomNeed, lacks: bool) -> Expect {
        let RandomNeed { of, cost, tokens, amount: needed } = need;
        let allowance = Allowance { cost: cost.map(Cost::from_nanos), tokens };
        let (budget, needed) = (self.budget(of), amount(needed));
        match lacks {
            true => Expect::Lacks(budget, allowance, needed),
            false => Expect::Affords(budget, allowance, needed),
        }
    }

    /// Returns the change that a commit of this agent makes, or of an outsider; none if such a commit may not make a
    /// change of this sort at all: the whole commit would be refused, whatever else it writes.
    pub(super) fn change(&self, change: RandomChange, by: Option<&Agent>) -> Option<Write> {
        let change = match (change, by) {
            (RandomChange::Reserve { of, foreign, amount: most }, Some(agent)) => {
                let budget = match self.budget(of) {
                    BudgetId::Tree(_) if !foreign => BudgetId::Tree(agent.root),
                    BudgetId::Day(day, _) if !foreign => BudgetId::Day(day, agent.owner.clone()),
                    foreign => foreign,
                };
                BudgetChange::Reserve { budget, amount: amount(most) }
            }
            (RandomChange::Settle { used }, Some(_)) => {
                BudgetChange::Settle { used: used.map(amount).unwrap_or_default(), is_all: used.is_some() }
            }
            (RandomChange::Granted { to, action, foreign, amount: more }, None) => {
                let of = self.agent(to);
                let owner = if foreign { self.agent(to + 1).owner } else { of.owner };
                let (tree, by, amount) = (of.root, owner.clone(), amount(more));
                BudgetChange::Granted { tree, owner, by, action, amount }
            }
            _ => return None,
        };
        Some(Write::Budget(change))
    }
}

/// Adds the budgets that a commit is about.
pub(super) fn note(commit: &Commit, budgets: &mut BTreeSet<BudgetId>) {
    for expected in &commit.expect {
        if let Expect::Affords(id, ..) | Expect::Lacks(id, ..) = expected {
            budgets.insert(id.clone());
        }
    }
    for write in &commit.writes {
        match write {
            Write::Budget(BudgetChange::Reserve { budget, .. }) => budgets.insert(budget.clone()),
            Write::Budget(BudgetChange::Granted { tree, .. }) => budgets.insert(BudgetId::Tree(*tree)),
            _ => false,
        };
    }
}

/// Whether two refusals agree: they have the same reason, and one for want of room says what is left, and whether
/// waiting may help.
pub(super) fn agree(one: &Error, other: &Error) -> bool {
    let is_of_budget = matches!(one, Error::OverBudget { .. } | Error::HasRoom { .. });
    discriminant(one) == discriminant(other) && (!is_of_budget || format!("{one:?}") == format!("{other:?}"))
}
