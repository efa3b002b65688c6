//! Model calls of agents with a budget: the most that a call can use is reserved before it is made, and settled
//! with what it used. So nothing is spent beyond a budget, whatever runs beside, crashes or is tried again.

use entourage_llm::{Error as ModelError, Reply, Request};
use entourage_store::{BudgetChange, Commit, Error as StoreError, Expect, Write};
use entourage_types::{
    Allowance, Amount, BudgetId, ItemBody, Kind, ModelUse, Notice, NoticeCode, Retry, Shortage,
};

use crate::{
    budget::Unaffordable,
    run::{Interrupt, Result, Run, model::request_progress::RequestStage},
};

/// The most tokens of an answer, where a budget applies and the kind says nothing.
const MAX_ANSWER: u32 = 8192;

/// The budgets that limit a model call, with their allowances.
pub(in crate::run) type Limiting = Vec<(BudgetId, Allowance)>;

/// The most tokens that the model may answer with; none if neither the kind nor a budget limits them.
pub(in crate::run) fn answer_limit(
    kind: &Kind,
    limiting: &Limiting,
    window: impl FnOnce() -> Option<u32>,
) -> Option<u32> {
    // Nothing is no limit that a provider takes.
    let own = kind.limits.max_answer_tokens.filter(|most| *most > 0);
    // A small window needs room for the request, too.
    own.or_else(|| (!limiting.is_empty()).then(|| MAX_ANSWER.min(window().unwrap_or(u32::MAX) / 4)))
}

impl Run<'_> {
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
        // What an activation that died has reserved counts as used, in whichever budgets that was.
        let lost = Write::Budget(BudgetChange::lost());
        let mut commit = Commit::fenced(&self.agent, self.engine.now()).write(lost);
        let allowances = limiting;
        for (budget, allowance) in &allowances {
            commit.expect.push(Expect::Affords(budget.clone(), *allowance, amount));
            let budget = budget.clone();
            commit.push(Write::Budget(BudgetChange::Reserve { budget, amount }));
        }
        match self.commit_as_is(commit).await {
            Ok(committed) => {
                self.inbox.committed(committed.inbox);
                self.record.reserve();
                Ok(Ok(()))
            }
            Err(StoreError::OverBudget { budget, left, may_have_room }) => {
                let full = allowances.into_iter().find(|(id, _)| *id == budget).unwrap_or((budget, left));
                Ok(Err(Unaffordable::new(full, left, amount, may_have_room)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the budget that had no room for this call has none still.
    pub(in crate::run) async fn still_lacking(
        &self,
        kept: &Retry,
    ) -> Result<Option<Unaffordable>, StoreError> {
        match &kept.shortage {
            Some(shortage) => self.engine.still_short(&self.agent, shortage).await,
            None => Ok(None),
        }
    }

    /// Ends the reservation of a call with the next commit: with what its answers used, these unusable ones included,
    /// and with all of it if they may have used more than is known.
    pub(in crate::run) fn settle_call(
        &mut self,
        (answer, wasted): (&Result<Reply, ModelError>, &[ModelUse]),
        model: Option<&str>,
        stage: RequestStage,
    ) {
        if !self.record.take_reserved() {
            return;
        }
        let answered = answer.as_ref().ok().map(Reply::used);
        // Each request takes in something.
        let is_reported = wasted.iter().chain(&answered).all(|used| used.usage.input > 0);
        let is_known = match answer {
            Ok(_) => is_reported,
            Err(error) => {
                is_reported
                    && match stage {
                        RequestStage::Queued | RequestStage::Reported => true,
                        RequestStage::Sent => error.is_unbilled(),
                        RequestStage::Accepted => false,
                    }
            }
        };
        let mut used = Amount::default();
        for answer in wasted.iter().chain(&answered) {
            used += self.engine.amount_of(model, answer);
        }
        self.batch.push(Write::Budget(BudgetChange::Settle { used, is_all: is_known }));
    }

    /// Says in the transcript that a budget is met.
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
