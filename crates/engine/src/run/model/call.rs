//! One model call: one step, whose checkpoint is the turn with its usage. Pieces of the answer go to
//! subscribers, beside the durable path.

use std::time::Duration;

use entourage_llm::{Error as ModelError, Reply, Request};
use entourage_store::Write;
use entourage_types::{Asked, ModelUse, Step, StepKey, StepState, ToolCall, Turn, WaitingOn, check_nesting};

use futures::FutureExt;

use crate::run::{
    Interrupt, Result, Run, check_lease,
    guards::guardrails::ParallelGuardrails,
    model::{
        attempts::FailedTries,
        decide::{Prompt, Reader},
        reserve::answer_limit,
        streamed::Streamed,
        usage::sanitize_usage,
    },
    trace::RunSpans,
};
use crate::{
    AgentDelta, Piece,
    feed::Pieces,
    prompt::View,
    retry::{self, Next},
};

/// What a model is asked for.
pub(in crate::run) enum Wanted<'a> {
    /// The agent's next turn, whose pieces are shown as they arrive.
    Turn,
    /// A decision.
    Decision(&'a Prompt),
}

impl Wanted<'_> {
    /// Whether an answer of no use is followed by a request for another one.
    const fn asks_again(&self) -> bool {
        match self {
            Self::Turn => true,
            Self::Decision(prompt) => prompt.asks_again,
        }
    }

    /// The number of the item that shows the answer to the user, if one does; `next` is that of the next item.
    fn shown_in(&self, next: u64) -> Option<u64> {
        match self {
            Self::Turn => Some(next),
            // The decision is the next item, and what the program says follows it.
            Self::Decision(prompt) => (prompt.reader == Reader::User).then_some(next + 1),
        }
    }
}

/// What a model answered, how it was asked, and at which attempt.
pub(in crate::run) struct Answered {
    pub(in crate::run) reply: Reply,
    pub(in crate::run) asked: Asked,
    pub(in crate::run) attempts: u32,
}

/// The outcome of one attempt.
struct Attempt {
    answer: Result<Reply, ModelError>,
    asked: Asked,
    /// The usage of unusable answers.
    wasted: Vec<ModelUse>,
    /// Whether the run's time was over before there was an answer.
    out_of_time: bool,
}

impl Run<'_> {
    /// Asks the model for its next turn, once: after a crash the turn is read back. The limits of the run take effect
    /// here; what has arrived in the inbox is read by [`receive`](Self::receive) alone. Calls that the program has not made
    /// when it reads messages or results, at the next turn, or at its end, get the output that they were not made.
    ///
    /// # Errors
    /// An [`Interrupt`] when a limit is met, or when the call is to be tried again later or failed for good.
    pub async fn call_model(&mut self) -> Result<Turn> {
        let is_new = !self.steps.is_done(&self.steps.next_model());
        if is_new {
            self.within_limits()?;
            self.close_calls_not_made();
        }
        let key = self.steps.begin_model();
        let own = key.clone();
        let turn = self
            .step(key, |run| {
                async move {
                    let Answered { reply, asked, attempts } = run.ask_model(&own, &Wanted::Turn).await?;
                    Ok((run.turn_of(reply, asked)?, attempts))
                }
                .boxed()
            })
            .await?;
        // The rows count the turn's item, so they are written after it.
        if is_new && !turn.calls.is_empty() {
            let resumed = self.resumed(self.engine.now());
            self.batch.extend(resumed);
        }
        Ok(turn)
    }

    /// Asks until a model answers or none can answer now.
    pub(in crate::run) async fn ask_model(&mut self, key: &StepKey, wanted: &Wanted<'_>) -> Result<Answered> {
        let is_turn = matches!(wanted, Wanted::Turn);
        // What a model has answered and what the program says is on record before a model is asked for more.
        if self.batch.has_news() {
            self.flush().await?;
        }
        let mut tries = match self.steps.get(key) {
            Some(Step { state: StepState::Retry(kept), attempt, .. }) => {
                FailedTries { kept: kept.clone(), made: *attempt }
            }
            _ => FailedTries::none(),
        };
        // A grant, or whatever else wakes it, lets it go on before its time if there is room.
        let is_short = tries.kept.shortage.is_some();
        if !self.is_due(tries.kept.due) && !self.control.is_hurried() && !is_short {
            return Err(Interrupt::Suspended(WaitingOn::Retry));
        }
        // While the budget has no room, nothing is added to the transcript.
        if let Some(lacking) = self.still_lacking(&tries.kept).await? {
            if !self.is_due(tries.kept.due) {
                // The wake-up of then stands: another one would come with each message.
                self.batch.expect(lacking.lacks);
                return Err(Interrupt::Suspended(WaitingOn::Retry));
            }
            return Err(self.wait_for_budget(key, tries, lacking, None));
        }
        // Records the run as running before it asks again: if the request ends the process, the next process
        // counts that.
        if self.record.waiting_on == Some(WaitingOn::Retry) {
            let now = self.engine.now();
            let mut resumed: Vec<Write> = self.resumed(now).collect();
            // Wanted now, by a person or by a grant. If the process ends before it is made, it is due nevertheless.
            if !self.is_due(tries.kept.due) {
                tries.kept.due = now;
                if let Some(shortage) = &tries.kept.shortage {
                    tries.kept.error = shortage.over();
                }
                resumed.push(Write::Step(self.retry_step(key, &tries)));
            }
            self.commit(resumed).await?;
        }
        if is_turn {
            self.make_room().await?;
            if !self.offered.take_noted_context() {
                let context = self.append_context(0).await?;
                self.batch.extend(context);
            }
        }
        let mut beside = self.start_parallel_guardrails()?;
        let pieces = self.engine.inner.feed.pieces(self.agent.root, self.agent.epoch.number);
        let max_attempts = self.kind().limits.max_attempts;
        let models = self.engine.models_of(self.kind());
        let mut at = tries.kept.models_failed as usize;
        // The shortest pause of the models that were skipped.
        let mut soonest = None;
        loop {
            let began = self.engine.now();
            let model = models.get(at).cloned().flatten();
            let limiting = self.engine.budgets_of(&self.agent, self.engine.now()).await?;
            let max_tokens = {
                let window = || self.engine.model().profile(model.as_deref()).context_window;
                answer_limit(&self.kind, &limiting, window)
            };
            let (request, asked) = match wanted {
                Wanted::Turn => self.next_request(model.clone(), max_tokens).await?,
                Wanted::Decision(prompt) => self.decision_request(prompt, model.clone(), max_tokens),
            };
            if let Err(lacking) = self.reserve(limiting, &request).await? {
                return Err(self.wait_for_budget(key, tries, lacking, soonest));
            }
            (tries.kept.put_off, tries.kept.shortage) = (0, None);
            let Attempt { answer, asked, wasted, out_of_time } =
                self.attempt((request, asked), wanted, &pieces, &mut beside).await?;
            RunSpans::of(self).request((&key.to_string(), model), (tries.made + 1, began), &answer, &wasted);
            self.charge_wasted(&wasted).await?;
            let error = match answer {
                Ok(reply) => {
                    self.let_pass(&mut beside, &reply).await?;
                    let asked = Asked { failed: tries.kept.failed, held_back: tries.kept.held_back, ..asked };
                    return Ok(Answered { reply, asked, attempts: tries.made + 1 });
                }
                Err(error) => error,
            };
            // A request that the closed gate held back is no attempt.
            let is_attempt = !matches!(error, ModelError::Busy { .. });
            if is_attempt {
                tries.failed(asked.at, asked.model, &error);
            }
            if out_of_time && !is_turn {
                return Err(tries.last_word(&error));
            }
            if out_of_time {
                // Announces the last call, or ends the run if this was the last one.
                self.out_of_time()?;
                continue;
            }
            if is_turn && matches!(error, ModelError::BeyondWindow { .. }) && self.shorten().await? {
                // The next request is a different one: its attempts count from one again.
                (tries.made, tries.kept.spent) = (tries.made + 1, tries.kept.spent + 1);
                continue;
            }
            if error.is_useless_answer() && !wanted.asks_again() {
                return Err(tries.last_word(&error));
            }
            tries.made += u32::from(is_attempt);
            let attempt = tries.made - tries.kept.spent;
            // A request that is refused for a fault of its own would be refused by other models too.
            let others = at + 1 < models.len() && !matches!(error, ModelError::Refused { .. });
            tracing::warn!(attempt, %error, "a model call failed");
            if let Some(pause) = retry::long_pause(&error).filter(|_| others) {
                soonest = Some(soonest.map_or(pause, |other| pause.min(other)));
                at += 1;
                continue;
            }
            let delay = match retry::next(&error, attempt, max_attempts, self.agent.id) {
                Next::Over if others => {
                    if at == tries.kept.models_failed as usize {
                        (tries.kept.models_failed, tries.kept.spent) =
                            (tries.kept.models_failed + 1, tries.made);
                        tries.kept.said.push(error.to_string());
                    }
                    at += 1;
                    continue;
                }
                Next::Over => match soonest.filter(|_| attempt < max_attempts) {
                    Some(pause) => pause,
                    None => return Err(tries.last_word(&error)),
                },
                Next::Again(delay) => soonest.map_or(delay, |pause| pause.min(delay)),
            };
            let due = self.engine.now() + delay;
            if !retry::in_memory(delay) {
                (tries.kept.due, tries.kept.error) = (due, error.to_string());
                return Err(self.try_again(key, tries).await);
            }
            // What the attempt used is settled before the pause, so that it keeps no other agent waiting.
            if self.batch.changes_budgets() {
                self.flush().await?;
            }
            tokio::select! {
                biased;
                () = self.engine.clock().sleep_until(due) => {}
                () = self.control.cancel().cancelled() => return Err(Interrupt::Stopping),
            }
        }
    }

    /// Makes one attempt. The end of the process, an intervention, a refusing guardrail or the end of the run's
    /// time cancels it.
    async fn attempt(
        &mut self,
        (request, asked): (Request, Asked),
        wanted: &Wanted<'_>,
        pieces: &Pieces,
        beside: &mut ParallelGuardrails,
    ) -> Result<Attempt> {
        let is_turn = matches!(wanted, Wanted::Turn);
        let model = request.model.clone();
        let beside_conversation = match wanted {
            Wanted::Turn => request.system.len() + self.offered.tools().weight,
            Wanted::Decision(prompt) => prompt.weight,
        };
        let named = model.clone().unwrap_or_else(|| "the model".into());
        self.control.pulse().beat(self.engine.clock().tick());
        check_lease(self.engine)?;
        let silent = Duration::from_secs(self.kind.limits.model_seconds);
        let is_shown = wanted.shown_in(self.agent.items).is_some();
        let blank = AgentDelta {
            agent: self.agent.id,
            run: self.record.id,
            item_seq: wanted.shown_in(self.agent.items).unwrap_or_default(),
            attempt: pieces.attempt(),
            offset: 0,
            piece: Piece::Reset,
        };
        let pulse = (&**self.control.pulse(), &**self.engine.clock());
        let mut deltas = Streamed::new(pieces, is_shown, pulse, blank);
        let (mut refused, mut out_of_time) = (None, false);
        let time_left = self.limits().time_left();
        let answer = tokio::select! {
            biased;
            interrupt = beside.refusal() => {
                refused = Some(interrupt);
                None
            }
            answer = self.engine.model().call(request, &mut deltas) => Some(answer),
            () = self.control.cancel().cancelled() => None,
            () = self.control.pulse().silence(&**self.engine.clock(), silent) => {
                Some(Err(ModelError::TimedOut { model: named, after: silent }))
            }
            () = self.engine.clock().sleep(time_left) => {
                out_of_time = true;
                Some(Err(ModelError::TimedOut { model: named, after: time_left }))
            }
        };
        if !matches!(answer, Some(Ok(_))) {
            deltas.take_back();
        }
        let answer = answer.ok_or_else(|| refused.unwrap_or(Interrupt::Stopping))?;
        let heard = deltas.into_heard();
        let asked = heard.timed(asked);
        let conversation = || if is_turn { View::of(self.items(), &self.kind).weight() } else { 0 };
        let sent = || conversation() + beside_conversation;
        let sanitize_usage = |used, said: &dyn Fn() -> usize| {
            sanitize_usage(&**self.engine.model(), used, model.as_deref(), sent, said)
        };
        let mut wasted: Vec<ModelUse> =
            heard.wasted.into_iter().map(|used| sanitize_usage(used, &|| 0)).collect();
        let answer = answer.map(|reply| {
            let calls = reply.calls.iter().map(|call| call.arguments.to_string().len());
            let said = || reply.text.len() + calls.clone().sum::<usize>();
            let ModelUse { usage, cost, .. } = sanitize_usage(reply.used(), &said);
            Reply { usage, cost, ..reply }
        });
        self.settle_call((&answer, &wasted), model.as_deref(), heard.stage);
        Ok(Attempt { answer: said_something(answer, &mut wasted), asked, wasted, out_of_time })
    }

    /// Counts an answer and returns it as a turn with its usage. The turn goes into the commit that follows
    /// at once: that of its calls' intents, that of their outputs if the calls are done at once, or that of
    /// the end of the run.
    fn turn_of(&mut self, reply: Reply, asked: Asked) -> Result<Turn> {
        let used = reply.used();
        let (input, output, calls) = (used.usage.input, used.usage.output, reply.calls.len());
        tracing::debug!(model = %used.model, input, output, calls, "the model answered");
        self.count(&used, self.engine.now());
        let tools = self.offered.keep_tools(self.engine)?;
        self.batch.extend(tools);
        let calls = self
            .limits()
            .accepted_calls(&reply.text, reply.calls)
            .into_iter()
            .map(with_storable_arguments)
            .collect();
        Ok(Turn { text: reply.text, calls, used: Some(used), asked: Some(Box::new(asked)) })
    }
}

/// Arguments that are nested too deep to be stored are kept as a text, which is no object, so that the call is refused.
fn with_storable_arguments(call: ToolCall) -> ToolCall {
    match check_nesting(&call.arguments) {
        Ok(()) => call,
        Err(_) => ToolCall { arguments: call.arguments.to_string().into(), ..call },
    }
}

/// Turns an answer without text and calls into an error, whichever model gave it.
fn said_something(
    answer: Result<Reply, ModelError>,
    wasted: &mut Vec<ModelUse>,
) -> Result<Reply, ModelError> {
    match answer {
        Ok(reply) if reply.calls.is_empty() && reply.text.trim().is_empty() => {
            wasted.push(reply.used());
            Err(ModelError::Empty { model: reply.model })
        }
        answer => answer,
    }
}
