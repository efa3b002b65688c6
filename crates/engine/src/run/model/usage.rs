//! The usage of model calls, and the limits on it. Every answer of a model goes through [`Run::charge`],
//! whatever the request was for.
//!
//! The usage is part of the run's row, in the commit that stores the answer: what is counted and what is in
//! the transcript cannot differ. Tokens that a provider counted but that never reached a commit (the process
//! died before it, the stream broke, a person cancelled the call) are in no sum.

use entourage_llm::Model;
use entourage_types::{Cost, ItemBody, ModelUse, StopReason, Time, Usage};

use crate::{
    metrics,
    prompt::BYTES,
    run::{Result, Run, guards::limits::RunLimits},
};

/// The maximum number of tokens of a request or an answer that is plausible if the model's window is unknown.
const MOST: u64 = 10_000_000;

/// Returns the reported usage of an answer, if it is plausible: a token has at least one byte, and a
/// request with its answer fits into the model's window. A report beyond both is replaced by an estimate,
/// so that one wrong number does not use up the limits. `sent` and `said` return the sizes of request and
/// answer in bytes; they are called only for a doubtful report, since that takes weighing the whole
/// conversation.
pub(in crate::run) fn sanitize_usage(
    model: &dyn Model,
    used: ModelUse,
    asked: Option<&str>,
    sent: impl FnOnce() -> usize,
    said: impl FnOnce() -> usize,
) -> ModelUse {
    let window = model.profile(asked).context_window.map_or(MOST, u64::from);
    let reported = used.usage;
    let largest = reported.input.max(reported.output);
    if largest <= window {
        return used;
    }
    let sent = sent();
    let most = window.max(sent as u64);
    if largest <= most {
        return used;
    }
    let estimate = |bytes: usize| (bytes / BYTES) as u64 + 1;
    let usage = Usage { input: estimate(sent), output: estimate(said()), ..Usage::default() };
    tracing::warn!(
        model = used.model,
        ?reported,
        most,
        "the provider reports an impossible number of tokens; counting an estimate"
    );
    let cost = model.price(asked, &usage);
    ModelUse { usage, cost, ..used }
}

impl Run<'_> {
    /// Counts an answer towards the run. The caller commits the run's row.
    pub(in crate::run) fn charge(&mut self, used: &ModelUse, at: Time) {
        self.record.charge(used, at);
        metrics::charged(used);
    }

    /// Counts a model call and its answer. The caller commits the run's row.
    pub(in crate::run) fn count(&mut self, used: &ModelUse, at: Time) {
        self.record.count_call();
        self.charge(used, at);
        metrics::model_step_done();
    }

    /// Counts unusable answers and commits the run's row at once: nothing else of them is stored, so a crash
    /// would lose them.
    pub(in crate::run) async fn charge_wasted(&mut self, wasted: &[ModelUse]) -> Result<()> {
        if wasted.is_empty() {
            return Ok(());
        }
        let at = self.engine.now();
        wasted.iter().for_each(|used| self.charge(used, at));
        let resumed = self.resumed(at).collect();
        self.commit(resumed).await
    }
}

impl<'r> RunLimits<'r> {
    /// Returns the limit of tokens or money that is reached, or that the next model call would exceed, with a
    /// text that says why.
    pub(in crate::run) fn overspent(&self) -> Option<(StopReason, String)> {
        let limits = &self.kind.limits;
        let next = self.next_input();
        let tokens = self.record.usage.tokens();
        if tokens >= limits.max_tokens || tokens.saturating_add(next.input) > limits.max_tokens {
            let limit = limits.max_tokens;
            let said = format!("{tokens} tokens were used{}; the limit is {limit}", and_next(next.input));
            return Some((StopReason::MaxTokens, said));
        }
        let limit = limits.max_cost?;
        let spent = self.record.cost;
        // The next call goes to the first of the models.
        let model = self.engine.models_of(self.kind).into_iter().next().flatten();
        let price = self.engine.model().price(model.as_deref(), &next).unwrap_or_default();
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

    /// Returns the limit of tokens or money under which one more call of the last one's size fits, but not
    /// two, with a text that says so.
    pub(in crate::run) fn nearly_spent(&self) -> Option<(StopReason, String)> {
        let limits = &self.kind.limits;
        let (next, last) = (self.next_input(), self.last_used()?);
        let tokens = self.record.usage.tokens();
        let one = next.input.saturating_add(last.usage.output);
        if tokens.saturating_add(one.saturating_mul(2)) > limits.max_tokens {
            let limit = limits.max_tokens;
            let said = format!("{tokens} tokens were used, and the limit of {limit} leaves one more call");
            return Some((StopReason::MaxTokens, said));
        }
        let limit = limits.max_cost?;
        let model = self.engine.models_of(self.kind).into_iter().next().flatten();
        let one = Usage { output: last.usage.output, ..next };
        let one = self.engine.model().price(model.as_deref(), &one).unwrap_or_default();
        let mut after = self.record.cost;
        after += one;
        after += one;
        let said = format!("{} was spent, and the limit of {limit} leaves one more call", self.record.cost);
        (after > limit).then_some((StopReason::MaxCost, said))
    }

    /// Returns the usage of the session's last model call.
    fn last_used(&self) -> Option<&'r ModelUse> {
        self.transcript.items().iter().rev().find_map(|item| match &item.body {
            ItemBody::Turn(turn) => turn.used.as_ref(),
            _ => None,
        })
    }

    /// Returns the least usage of the next call: the input and output of the last one, cached as far as that
    /// was. Nothing is known before the session's first call.
    fn next_input(&self) -> Usage {
        self.last_used().map_or_else(Usage::default, |used| {
            let Usage { input, output, reasoning, cached, .. } = used.usage;
            Usage {
                input: input.saturating_add(output.saturating_sub(reasoning)),
                cached,
                ..Usage::default()
            }
        })
    }
}

fn and_next(input: u64) -> String {
    if input == 0 { String::new() } else { format!(", and the next call takes in {input} or more") }
}
