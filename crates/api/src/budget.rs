//! Budgets.

use entourage_types::{self as types, AgentId, BudgetId, Cost, Day, Dollars};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use utoipa::ToSchema;

use crate::schema;

/// A budget that limits an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Budget {
    /// What it is of.
    pub of: BudgetOf,
    /// What may be spent, without what was granted.
    pub allowance: Allowance,
    /// What people have granted beyond that, without what they took back.
    pub granted: Amount,
    /// What answers used.
    pub spent: Amount,
    /// The reservations of calls whose usage never arrived: they count as if all of it had been used.
    pub presumed: Amount,
    /// What calls under way may use at most.
    pub reserved: Amount,
    /// What is left beside all that.
    pub left: Allowance,
}

/// What a budget is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum BudgetOf {
    /// Of a tree.
    Tree {
        /// Its root.
        #[schema(value_type = schema::AgentId)]
        root: AgentId,
    },
    /// Of an owner, for a day.
    Day {
        /// The day in UTC.
        #[schema(value_type = schema::Day)]
        day: Day,
    },
}

/// Money and tokens together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Amount {
    /// The money.
    #[schema(value_type = schema::Cost)]
    pub cost: Cost,
    /// Tokens in and out.
    pub tokens: u64,
}

/// What may be used, in money, in tokens, or in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Allowance {
    /// The money; left out if it is not limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Cost>)]
    pub cost: Option<Cost>,
    /// The tokens; left out if they are not limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// More for a tree than its budget, or less of that again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantBudget {
    /// How much money, in dollars, such as `$0.50`.
    #[serde(default, deserialize_with = "as_text", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "$0.50")]
    pub cost: Option<Dollars>,
    /// How many tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Whether it is taken back of what was granted, instead of granted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub take_back: bool,
}

/// Reads money that is written as text. Responses tell it as a number of billionths: a number that a client
/// copies from one is no number of dollars.
fn as_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Dollars>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected an amount of money in dollars, as text such as \"$0.50\"")]
    enum Written {
        Text(String),
    }
    let written = Option::<Written>::deserialize(deserializer)?;
    let amount = written.map(|Written::Text(text)| text.parse().map(Dollars));
    amount.transpose().map_err(D::Error::custom)
}

impl From<GrantBudget> for types::Amount {
    fn from(GrantBudget { cost, tokens, take_back: _ }: GrantBudget) -> Self {
        Self { cost: cost.unwrap_or_default().0, tokens: tokens.unwrap_or_default() }
    }
}

impl From<types::Amount> for Amount {
    fn from(types::Amount { cost, tokens }: types::Amount) -> Self {
        Self { cost, tokens }
    }
}

impl From<types::Allowance> for Allowance {
    fn from(types::Allowance { cost, tokens }: types::Allowance) -> Self {
        Self { cost, tokens }
    }
}

impl From<BudgetId> for BudgetOf {
    fn from(id: BudgetId) -> Self {
        match id {
            BudgetId::Tree(root) => Self::Tree { root },
            BudgetId::Day(day, _) => Self::Day { day },
        }
    }
}

impl Budget {
    /// A budget with its allowance.
    #[must_use]
    pub fn new(budget: types::Budget, allowance: types::Allowance) -> Self {
        let left = budget.left(allowance).into();
        let types::Budget { id, owner: _, spent, presumed, reserved, granted } = budget;
        Self {
            of: id.into(),
            allowance: allowance.into(),
            granted: granted.into(),
            spent: spent.into(),
            presumed: presumed.into(),
            reserved: reserved.into(),
            left,
        }
    }
}
