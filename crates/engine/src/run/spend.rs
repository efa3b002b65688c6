//! What model calls use, and the limits on it. Every answer of a model goes through [`Run::charge`],
//! whatever it was asked for.
//!
//! What was used rides in the run's row, in the commit that keeps the answer: what is counted and
//! what is in the transcript cannot differ. Tokens that a provider counted and we never heard of
//! (the process died before the commit, the stream broke, a person cut the call off) are in no sum.

use entourage_types::{Cost, ItemBody, ModelUse, Status, StopReason, Time, Usage};

use super::{Result, Run};
use crate::measure;

impl Run<'_> {
    /// Counts an answer towards the run. Whoever calls commits the run's row.
    pub(super) fn charge(&mut self, used: &ModelUse, at: Time) {
        self.record.charge(used, at);
        measure::charged(used);
    }

    /// Counts a model call and its answer. Whoever calls commits the run's row.
    pub(super) fn count(&mut self, used: &ModelUse, at: Time) {
        self.record.model_calls += 1;
        self.charge(used, at);
        measure::model_step_done();
    }

    /// Counts answers that were of no use, at once: nothing else of them is kept, so that a crash
    /// would forget them.
    pub(super) async fn charge_wasted(&mut self, wasted: &[ModelUse]) -> Result<()> {
        if wasted.is_empty() {
            return Ok(());
        }
        let at = self.house.now();
        wasted.iter().for_each(|used| self.charge(used, at));
        let mut writes = vec![self.run_row(Status::Running, None)];
        writes.extend(self.awake(at));
        self.commit(writes).await
    }

    /// The limit of tokens or money that the next model call would pass, if it would, and why.
    pub(super) fn overspent(&self) -> Option<(StopReason, String)> {
        let limits = &self.kind.limits;
        let next = self.next_input();
        let tokens = self.record.usage.tokens();
        if tokens >= limits.max_tokens || tokens + next.input > limits.max_tokens {
            let limit = limits.max_tokens;
            let said = format!("{tokens} tokens were used{}; the limit is {limit}", and_next(next.input));
            return Some((StopReason::MaxTokens, said));
        }
        let limit = limits.max_cost?;
        let spent = self.record.cost;
        // The call that is about to be made goes to the first of the models.
        let model = self.house.models_of(&self.kind).into_iter().next().flatten();
        let price = self.house.model().price(model.as_deref(), &next).unwrap_or_default();
        let mut after = spent;
        after += price;
        if spent < limit && after <= limit {
            return None;
        }
        let next = if price == Cost::default() {
            String::new()
        } else {
            format!(", and the next call costs {price} or more")
        };
        Some((StopReason::MaxCost, format!("{spent} was spent{next}; the limit is {limit}")))
    }

    /// The limit of tokens or money that one more call fits under, of the size of the last one, and not a
    /// second; and what is said of it.
    pub(super) fn nearly_spent(&self) -> Option<(StopReason, String)> {
        let limits = &self.kind.limits;
        let (next, last) = (self.next_input(), self.last_used()?);
        let tokens = self.record.usage.tokens();
        let one = next.input + last.usage.output;
        if tokens + 2 * one > limits.max_tokens {
            let limit = limits.max_tokens;
            let said = format!("{tokens} tokens were used, and the limit of {limit} leaves one more call");
            return Some((StopReason::MaxTokens, said));
        }
        let limit = limits.max_cost?;
        let model = self.house.models_of(&self.kind).into_iter().next().flatten();
        let one = Usage { output: last.usage.output, ..next };
        let one = self.house.model().price(model.as_deref(), &one).unwrap_or_default();
        let mut after = self.record.cost;
        after += one;
        after += one;
        let said = format!("{} was spent, and the limit of {limit} leaves one more call", self.record.cost);
        (after > limit).then_some((StopReason::MaxCost, said))
    }

    /// What the last model call of the session used.
    fn last_used(&self) -> Option<&ModelUse> {
        self.items.iter().rev().find_map(|item| match &item.body {
            ItemBody::Turn(turn) => turn.used.as_ref(),
            _ => None,
        })
    }

    /// What the next call takes in at least: all that the last one took in and said, read from the
    /// cache as far as it was then. Nothing is known before the session's first one.
    fn next_input(&self) -> Usage {
        self.last_used().map_or_else(Usage::default, |used| {
            let Usage { input, output, reasoning, cached, .. } = used.usage;
            Usage { input: input + output.saturating_sub(reasoning), cached, ..Usage::default() }
        })
    }
}

fn and_next(input: u64) -> String {
    if input == 0 { String::new() } else { format!(", and the next call takes in {input} or more") }
}
