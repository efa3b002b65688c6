//! Budgets as the API shows them.

use entourage_api::Budget;
use entourage_engine::BudgetState;

/// A budget with its allowance.
pub(crate) fn budget(BudgetState { allowance, budget }: BudgetState) -> Budget {
    Budget::new(budget, allowance)
}
