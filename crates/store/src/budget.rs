//! What commits do to budgets, the same for every store.

use entourage_types::{AgentId, Amount, Budget, BudgetId, Owner};

/// How many days the budget of a day is kept after it: the first reservation of a day removes what is older.
pub const DAYS_KEPT: u16 = 31;

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
    /// Ends the fenced agent's reservations in all budgets, if it has any.
    Settle {
        /// What the call used; none if that is not known: the reservation counts as used.
        used: Option<Amount>,
    },
    /// A person grants a tree more. Only an outsider may write this.
    Grant {
        /// The root of the tree.
        tree: AgentId,
        /// Whose it is.
        owner: Owner,
        /// How much more.
        amount: Amount,
    },
}

impl BudgetChange {
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
}
