//! What commits do to budgets, the same for every store.

use entourage_types::{Amount, Budget, BudgetId, Owner};

/// A change of a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetChange {
    /// Reserves the most that the next model call of the fenced agent can use. An earlier reservation of the agent
    /// counts as used from now on: its usage never arrived.
    Reserve {
        /// The budget, of the agent's tree or of its owner.
        budget: BudgetId,
        /// The most that the call can use.
        amount: Amount,
    },
    /// Ends the fenced agent's reservation, if it has one.
    Settle {
        /// The budget, of the agent's tree or of its owner.
        budget: BudgetId,
        /// What the call used; none if that is not known: the reservation counts as used.
        used: Option<Amount>,
    },
    /// A person grants more. Only an outsider may write this.
    Grant {
        /// The budget.
        budget: BudgetId,
        /// Whose it is.
        owner: Owner,
        /// How much more.
        amount: Amount,
    },
}

impl BudgetChange {
    /// The budget that it changes.
    #[must_use]
    pub const fn budget(&self) -> &BudgetId {
        match self {
            Self::Reserve { budget, .. } | Self::Settle { budget, .. } | Self::Grant { budget, .. } => budget,
        }
    }

    /// Changes the budget, in which the writer holds this reservation, and returns what it holds afterwards.
    pub fn apply(&self, budget: &mut Budget, held: Option<Amount>) -> Option<Amount> {
        match self {
            Self::Reserve { amount, .. } => {
                budget.reserved -= held.unwrap_or_default();
                budget.presumed += held.unwrap_or_default();
                budget.reserved += *amount;
                Some(*amount)
            }
            Self::Settle { used, .. } => {
                budget.reserved -= held.unwrap_or_default();
                match used {
                    Some(used) => budget.spent += *used,
                    None => budget.presumed += held.unwrap_or_default(),
                }
                None
            }
            Self::Grant { amount, .. } => {
                budget.granted += *amount;
                held
            }
        }
    }

    /// Whether it changes nothing in a budget in which the writer holds nothing.
    #[must_use]
    pub fn is_void(&self, held: Option<Amount>) -> bool {
        held.is_none() && matches!(self, Self::Settle { used, .. } if used.is_none_or(|used| used.is_zero()))
    }
}
