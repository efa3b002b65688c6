//! What may be spent: in tokens, in money, or in money and a day.

use entourage_engine::Budgets;
use entourage_llm::Price;
use entourage_types::{Amount, Cost, Limits, Shortage, Usage};

/// A millionth of a dollar for each token.
const PRICE: Price = Price { input: 1.0, output: 1.0, cached: None, cache_written: None };
/// Room for a call or two of a tree at once, until people grant more.
const TREE: u64 = 20_000;
/// What people grant.
const MORE: u64 = 10_000;
/// Room for the first calls of a tree, in tokens that are paid.
const PAID: u64 = 8_000;
/// Room for a call or two of an owner, unless too many of them are lost in a day, in tokens that are paid. Each call
/// must have room in a day, since nobody grants more for it.
const DAY: u64 = 25_000;

/// What the budgets of a simulation limit. Only where there are some in money, its model has a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purse {
    /// The tokens of trees.
    Tokens,
    /// The money of trees.
    Money,
    /// The tokens of trees, and the money of owners in a day.
    Days,
}

impl Purse {
    pub(super) const ALL: [Self; 3] = [Self::Tokens, Self::Money, Self::Days];

    /// That of a seed. It rolls no dice, so that a seed has the same history as without it where it changes nothing.
    pub(super) const fn of(seed: u64) -> Self {
        match seed % 4 {
            0 | 1 => Self::Tokens,
            2 => Self::Money,
            _ => Self::Days,
        }
    }

    /// The limits with a budget for the tree.
    pub(super) fn limit_tree(self, limits: Limits) -> Limits {
        let limits = Limits { max_answer_tokens: Some(100), ..limits };
        match self {
            Self::Tokens | Self::Days => Limits { max_tree_tokens: Some(TREE), ..limits },
            Self::Money => Limits { max_tree_cost: Some(worth(PAID)), ..limits },
        }
    }

    /// What owners may spend in a day.
    pub(super) fn budgets(self) -> Budgets {
        let per_owner_per_day = (self == Self::Days).then(|| worth(DAY));
        Budgets { per_owner_per_day, ..Budgets::default() }
    }

    /// The price of what an answer used, if it has one.
    pub(super) fn price(self, usage: &Usage) -> Option<Cost> {
        PRICE.of(usage).filter(|_| self != Self::Tokens)
    }
}

/// What people grant a tree that lacks this: more of what its budget limits.
pub(super) fn more(shortage: &Shortage) -> Amount {
    let cost = shortage.needs.cost.map(|_| worth(MORE)).unwrap_or_default();
    Amount { cost, tokens: shortage.needs.tokens.map_or(0, |_| MORE) }
}

/// What tokens cost.
fn worth(tokens: u64) -> Cost {
    Cost::from_nanos(tokens * 1_000)
}
