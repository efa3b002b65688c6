//! Model calls of agents with a budget: the most that a call can use is reserved before it is made, and settled
//! with what it used. So nothing is spent beyond a budget, whatever runs beside, crashes or is tried again.

use std::time::Duration;

use entourage_llm::{Error as ModelError, Reply, Request};
use entourage_store::{BudgetChange, Commit, Error as StoreError, Expect, Write};
use entourage_types::{Allowance, Amount, BudgetId, ItemBody, ModelUse, Notice, NoticeCode, Shortage, Time};

use crate::run::{Interrupt, Result, Run};

/// The most tokens of an answer, where a budget applies and the kind says nothing.
const MAX_ANSWER: u32 = 8192;
/// The pause before a call is tried again for which the reservations of calls under way leave no room.
const OTHERS_SETTLE: Duration = Duration::from_secs(2);
/// A grant wakes those that wait for one at once. Without one they look again after this time: the kind may allow
/// more by then.
const LOOKS_AGAIN: Duration = Duration::from_secs(24 * 60 * 60);

/// The budgets that limit a model call, with their allowances.
pub(in crate::run) type Limiting = Vec<(BudgetId, Allowance)>;

/// Why a call was not made, and when it is tried again.
pub(in crate::run) struct Unaffordable {
    pub(in crate::run) shortage: Shortage,
    pub(in crate::run) due: Time,
    /// What must still hold when the run falls asleep, so that no grant is missed; none if calls under way may leave
    /// enough.
    pub(in crate::run) lacks: Option<Expect>,
}

impl Run<'_> {
    /// The budgets that limit the next model call.
    pub(in crate::run) async fn limiting(&self) -> Result<Limiting, StoreError> {
        self.engine.budgets_of(&self.agent, self.engine.now()).await
    }

    /// The most tokens that the model may answer with; none if neither the kind nor a budget limits them.
    pub(in crate::run) fn answer_limit(&self, limiting: &Limiting) -> Option<u32> {
        let own = self.kind.limits.max_answer_tokens;
        own.or((!limiting.is_empty()).then_some(MAX_ANSWER))
    }

    /// Reserves the most that a request can use in all budgets that limit it, in a commit of its own, or in none.
    pub(in crate::run) async fn reserve(
        &mut self,
        limiting: Limiting,
        request: &Request,
    ) -> Result<Result<(), Unaffordable>> {
        if limiting.is_empty() {
            return Ok(Ok(()));
        }
        // What an earlier call used is settled before this one is reserved.
        if self.batch.changes_budgets() {
            self.flush().await?;
        }
        let (tokens, cost) = self.engine.worst_case(request);
        if cost.is_none() && limiting.iter().any(|(_, allowance)| allowance.cost.is_some()) {
            let model = request.model.clone().unwrap_or_else(|| self.engine.model().describe());
            return Err(Interrupt::failed(format!(
                "the price of {model} is not known, and this agent has a budget in money. Set the price as \
                 `models.prices.\"provider::name\"` in the settings, or one for all unknown models as \
                 `budget.unpriced`"
            )));
        }
        let amount = Amount { cost: cost.unwrap_or_default(), tokens };
        let mut commit = Commit::fenced(&self.agent, self.engine.now());
        let allowances = limiting;
        for (budget, allowance) in &allowances {
            commit.expect.push(Expect::Affords(budget.clone(), *allowance, amount));
            let budget = budget.clone();
            commit.push(Write::Budget(BudgetChange::Reserve { budget, amount }));
        }
        match self.engine.inner.store.commit(commit).await {
            Ok(committed) => {
                self.inbox.committed(committed.inbox);
                self.record.reserve(allowances.into_iter().map(|(budget, _)| budget).collect());
                Ok(Ok(()))
            }
            Err(StoreError::OverBudget { budget, left, may_have_room }) => {
                let needs = Allowance {
                    cost: left.cost.map(|_| amount.cost),
                    tokens: left.tokens.map(|_| amount.tokens),
                };
                let now = self.engine.now();
                let due = match &budget {
                    _ if may_have_room => now + OTHERS_SETTLE,
                    BudgetId::Tree(_) => now + LOOKS_AGAIN,
                    BudgetId::Day(day, _) => day.next().begins(),
                };
                let allowance = |id: &BudgetId| {
                    allowances.iter().find(|(of, _)| of == id).map(|(_, allowance)| *allowance)
                };
                let lacks = allowance(&budget).filter(|_| !may_have_room);
                let lacks = lacks.map(|allowance| Expect::Lacks(budget.clone(), allowance, amount));
                Ok(Err(Unaffordable { shortage: Shortage { budget, needs, left }, due, lacks }))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the reservation of a call with the next commit: with what its answers used, these unusable ones included,
    /// or as a whole if that is not known.
    pub(in crate::run) fn settle_call(
        &mut self,
        answer: &Result<Reply, ModelError>,
        wasted: &[ModelUse],
        began: bool,
    ) {
        let answered = answer.as_ref().ok().map(Reply::used);
        let is_known = match answer {
            Ok(reply) => !reply.usage.is_none(),
            Err(error) => !wasted.is_empty() || (!began && error.is_unbilled()),
        };
        let mut used = Amount::default();
        wasted.iter().chain(&answered).for_each(|answer| used += self.engine.amount_of(answer));
        let used = is_known.then_some(used);
        for budget in self.record.take_reserved() {
            self.batch.push(Write::Budget(BudgetChange::Settle { budget, used }));
        }
    }

    /// Returns the writes that end what a call that was cut off, or an activation that died, has reserved.
    pub(in crate::run) async fn settled_at_end(&mut self) -> Result<Vec<Write>, StoreError> {
        let mut budgets = self.record.take_reserved();
        budgets.extend(self.limiting().await?.into_iter().map(|(budget, _)| budget));
        let settled = |budget| Write::Budget(BudgetChange::Settle { budget, used: None });
        Ok(budgets.into_iter().map(settled).collect())
    }

    /// Says in the transcript that a budget is met, unless the call has waited for that before.
    pub(in crate::run) fn say_over_budget(&mut self, shortage: &Shortage) {
        let what = match shortage.budget {
            BudgetId::Tree(_) => "grant more, and it goes on",
            BudgetId::Day(..) => "it goes on tomorrow, or once the operator allows more",
        };
        let notice = Notice::new(NoticeCode::OverBudget, format!("{shortage}; {what}"));
        let said = self.append(ItemBody::Notice(notice), self.engine.now());
        self.batch.push(said);
    }
}
