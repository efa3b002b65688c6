//! Budgets: what a tree, or an owner in a day, may spend at most. A model call reserves the most that it can use
//! before it is made, and is settled with what it used.

use std::{
    fmt,
    ops::{AddAssign, SubAssign},
    str::FromStr,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{AgentId, Cost, Day, Owner, status::words};

/// Money and tokens together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Amount {
    /// The money.
    pub cost: Cost,
    /// Tokens in and out.
    pub tokens: u64,
}

impl Amount {
    /// Whether it is nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it is no more than this, in money and in tokens.
    #[must_use]
    pub fn is_within(&self, most: Self) -> bool {
        self.cost <= most.cost && self.tokens <= most.tokens
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        self.cost += other.cost;
        self.tokens = self.tokens.saturating_add(other.tokens);
    }
}

/// Nothing is below zero.
impl SubAssign for Amount {
    fn sub_assign(&mut self, other: Self) {
        self.cost = Cost::from_nanos(self.cost.nanos().saturating_sub(other.cost.nanos()));
        self.tokens = self.tokens.saturating_sub(other.tokens);
    }
}

/// The most that may be spent from a budget, in money, in tokens, or in both; what a person grants comes on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Allowance {
    /// The money; none if it is not limited.
    pub cost: Option<Cost>,
    /// The tokens; none if they are not limited.
    pub tokens: Option<u64>,
}

impl Allowance {
    /// Whether it limits nothing.
    #[must_use]
    pub const fn is_unlimited(&self) -> bool {
        self.cost.is_none() && self.tokens.is_none()
    }
}

words! {
    /// What a person does to the budget of a tree.
    BudgetAction, "change of a budget" {
        /// Grants more than the allowance.
        Grant => "grant",
        /// Takes back what was granted, as far as it is neither spent nor reserved.
        TakeBack => "take_back",
    }
}

/// Which budget.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BudgetId {
    /// That of the tree with this root.
    Tree(AgentId),
    /// That of an owner for a day.
    Day(Day, Owner),
}

/// As stored. No day and no agent's id has a slash.
impl fmt::Display for BudgetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(root) => root.fmt(f),
            Self::Day(day, owner) => write!(f, "{day}/{owner}"),
        }
    }
}

impl FromStr for BudgetId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((day, owner)) => Ok(Self::Day(day.parse()?, Owner::new(owner))),
            None => text.parse().map(Self::Tree).map_err(|error: crate::ParseIdError| error.to_string()),
        }
    }
}

impl Serialize for BudgetId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BudgetId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// What is on record of a budget. Its allowance is not: that is the kind's, or the settings'.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// Which one.
    pub id: BudgetId,
    /// Whose it is.
    pub owner: Owner,
    /// What answers used.
    pub spent: Amount,
    /// The reservations of calls whose usage never arrived: they count as if all of it had been used.
    pub presumed: Amount,
    /// What calls under way may use at most.
    pub reserved: Amount,
    /// What people have granted beyond the allowance, without what they took back.
    pub granted: Amount,
}

impl Budget {
    /// A budget of which nothing is on record.
    #[must_use]
    pub fn unused(id: BudgetId, owner: Owner) -> Self {
        let none = Amount::default();
        Self { id, owner, spent: none, presumed: none, reserved: none, granted: none }
    }

    /// What is spent for good: what answers used, and what counts as used.
    #[must_use]
    pub fn gone(&self) -> Amount {
        let mut gone = self.spent;
        gone += self.presumed;
        gone
    }

    /// The most that people can still grant: the sum of all grants is kept as integers that any database has.
    #[must_use]
    pub const fn grantable(&self) -> Amount {
        const MOST: u64 = i64::MAX.cast_unsigned();
        let Amount { cost, tokens } = self.granted;
        let cost = Cost::from_nanos(MOST.saturating_sub(cost.nanos()));
        Amount { cost, tokens: MOST.saturating_sub(tokens) }
    }

    /// What an allowance leaves beside what is spent and what is reserved.
    #[must_use]
    pub fn left(&self, allowance: Allowance) -> Allowance {
        let mut used = self.gone();
        used += self.reserved;
        self.beside(allowance, used)
    }

    /// What an allowance would leave if all calls under way used nothing.
    #[must_use]
    pub fn left_at_best(&self, allowance: Allowance) -> Allowance {
        self.beside(allowance, self.gone())
    }

    fn beside(&self, allowance: Allowance, used: Amount) -> Allowance {
        // What is shown fits into the integers of any client.
        let of = |limit: u64, granted: u64, used: u64| {
            limit.saturating_add(granted).saturating_sub(used).min(i64::MAX.cast_unsigned())
        };
        let cost = allowance
            .cost
            .map(|limit| of(limit.nanos(), self.granted.cost.nanos(), used.cost.nanos()))
            .map(Cost::from_nanos);
        let tokens = allowance.tokens.map(|limit| of(limit, self.granted.tokens, used.tokens));
        Allowance { cost, tokens }
    }
}

impl Allowance {
    /// Whether it has room for an amount.
    #[must_use]
    pub fn holds(&self, amount: Amount) -> bool {
        self.cost.is_none_or(|cost| amount.cost <= cost)
            && self.tokens.is_none_or(|tokens| amount.tokens <= tokens)
    }

    /// Takes an amount out of it, if it has room for that. Returns whether it has.
    pub fn take(&mut self, amount: Amount) -> bool {
        let has_room = self.holds(amount);
        if has_room {
            self.cost = self.cost.map(|cost| Cost::from_nanos(cost.nanos() - amount.cost.nanos()));
            self.tokens = self.tokens.map(|tokens| tokens - amount.tokens);
        }
        has_room
    }
}

/// As people read it: `$0.50 and 1000 tokens`.
impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cost, self.tokens) {
            (Some(cost), Some(tokens)) => write!(f, "{cost} and {tokens} tokens"),
            (Some(cost), None) => cost.fmt(f),
            (None, Some(tokens)) => write!(f, "{tokens} tokens"),
            (None, None) => f.write_str("no limit"),
        }
    }
}

/// Why a model call was not made: a budget has no room for the most that it can use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortage {
    /// The budget.
    pub budget: BudgetId,
    /// What the call may use at most, in what the budget limits.
    pub needs: Allowance,
    /// What is left.
    pub left: Allowance,
}

impl Shortage {
    /// What the call may use at most, and nothing of what the budget does not limit.
    #[must_use]
    pub fn needed(&self) -> Amount {
        let Allowance { cost, tokens } = self.needs;
        Amount { cost: cost.unwrap_or_default(), tokens: tokens.unwrap_or_default() }
    }

    /// That it is over.
    #[must_use]
    pub fn over(&self) -> String {
        format!("{} has room again", self.of())
    }

    fn of(&self) -> String {
        match &self.budget {
            BudgetId::Tree(_) => "the tree's budget".to_owned(),
            BudgetId::Day(day, _) => format!("the budget of {day}"),
        }
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has {} left, and the next call may take {}", self.of(), self.left, self.needs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_id_reads_back_from_its_text() {
        let day: Day = "2026-11-26".parse().unwrap();
        for id in [BudgetId::Tree(AgentId::new()), BudgetId::Day(day, Owner::new("ann / of any sort"))] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert!("anything".parse::<BudgetId>().is_err());
    }

    #[test]
    fn what_is_left_is_what_is_neither_spent_nor_presumed_nor_reserved_nor_below_zero() {
        let amount = |cost, tokens| Amount { cost: Cost::from_nanos(cost), tokens };
        let budget = Budget {
            spent: amount(3, 30),
            presumed: amount(1, 10),
            reserved: amount(2, 20),
            granted: amount(5, 0),
            ..Budget::unused(BudgetId::Tree(AgentId::new()), Owner::local())
        };
        let allowance = Allowance { cost: Some(Cost::from_nanos(4)), tokens: Some(50) };
        let left = budget.left(allowance);
        assert_eq!(left, Allowance { cost: Some(Cost::from_nanos(3)), tokens: Some(0) });
        assert_eq!(budget.left_at_best(allowance).tokens, Some(10));
        assert!(left.holds(amount(3, 0)) && !left.holds(amount(4, 0)) && !left.holds(amount(0, 1)));
        assert!(Allowance::default().holds(amount(u64::MAX, u64::MAX)));
    }

    #[test]
    fn an_allowance_gives_whole_amounts_while_it_has_room_for_them() {
        let amount = |cost, tokens| Amount { cost: Cost::from_nanos(cost), tokens };
        let mut both = Allowance { cost: Some(Cost::from_nanos(5)), tokens: Some(50) };
        assert!(both.take(amount(3, 10)));
        for too_much in [amount(3, 0), amount(0, 41)] {
            assert!(!both.take(too_much));
            assert_eq!(both, Allowance { cost: Some(Cost::from_nanos(2)), tokens: Some(40) });
        }
        assert!(both.take(amount(2, 40)) && !both.take(amount(1, 0)));
        let mut unlimited = Allowance::default();
        assert!(unlimited.take(amount(u64::MAX, u64::MAX)) && unlimited.is_unlimited());
    }
}
