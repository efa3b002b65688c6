//! What commits do to budgets, the same for every store.

use entourage_types::{AgentId, Amount, Budget, BudgetAction, BudgetId, Owner};

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
        /// What the call is known to have used.
        used: Amount,
        /// Whether that is all; otherwise the rest of the reservation counts as used, too.
        is_all: bool,
    },
    /// A person grants a tree more, up to [what is counted](Budget::grantable), or takes back what was granted, and no
    /// more than that. With an event of the tree. Only an outsider may write this.
    Granted {
        /// The root of the tree.
        tree: AgentId,
        /// Whose it is.
        owner: Owner,
        /// The person.
        by: Owner,
        /// What they do.
        action: BudgetAction,
        /// How much.
        amount: Amount,
    },
}

impl BudgetChange {
    /// The end of a reservation of which nothing is known: all of it counts as used.
    #[must_use]
    pub fn lost() -> Self {
        Self::Settle { used: Amount::default(), is_all: false }
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
            Self::Settle { used, is_all } => {
                let mut rest = held.unwrap_or_default();
                budget.reserved -= rest;
                budget.spent += *used;
                rest -= *used;
                if !is_all {
                    budget.presumed += rest;
                }
                None
            }
            Self::Granted { action, amount, .. } => {
                match action {
                    BudgetAction::Grant => budget.granted += *amount,
                    BudgetAction::TakeBack => budget.granted -= *amount,
                }
                held
            }
        }
    }
}
