//! The calls of one turn: one step each, run concurrently. Each outcome is committed when it arrives; the
//! outputs join the transcript together, in the order of the calls, once all are there.

use std::sync::Arc;

use entourage_store::Write;
use entourage_tools::{Context, Effect, Error as ToolError, Outcome, SubCallRecord};
use entourage_types::{
    CallId, ItemBody, Notice, NoticeCode, OnEnd, Output, OutputEffect, ResultSource, Step, StepKey,
    StepState, StepStatus, TaskId, Time, ToolCall, Wait, WaitingOn, check_nesting,
};
use futures::{
    FutureExt, StreamExt,
    stream::{self, BoxStream, SelectAll},
};
use serde_json::Value;

use crate::reader::{self, Reader};
use crate::run::{
    Interrupt, Result, Run, check_lease,
    delegation::order::{CallOutcome, Order},
    guards::taint::Readings,
    inbox::Taken,
    questions::ask::{ASKED_BESIDE, QuestionRequest},
    questions::reply::{Reply, reply_of},
    tools::calls::Calls,
    tools::execute::{CallResult, beside_others, run_tool},
    tools::output::{TurnOutcome, effect_of},
    tools::output_limits::{failed, succeeded},
};

/// The output of calls after an answer.
const AFTER_ANSWER: &str = "Not run: an earlier call of this turn answers, which ends the work. Make the \
                            calls that are still needed first, then answer.";

/// The output of a call by code that would write to the user or end the run.
const NOT_BY_CODE: &str = "Not sent: code cannot write to the user. Report with `emit` what it does, and send the \
                           message when the code has ended.";

/// The most calls of a turn that are made: enough to set a hundred agents to work at once.
const MOST_MADE: usize = 128;
/// The most of them that run at once; the others wait for one of these to end.
const AT_ONCE: usize = 16;

/// Running calls, as part of the activation: they end with it. An error once this node may begin no more.
type Running = SelectAll<BoxStream<'static, Result<CallResult>>>;

impl Run<'_> {
    /// Makes all calls of a turn and commits their outputs. Returns what these mean for the run, if anything.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] while a call waits for a person, an agent or a time; a failed run if these are some of the
    /// calls of the last turn, and not all of them.
    pub async fn call_tools(&mut self, calls: &[ToolCall]) -> Result<Option<TurnOutcome>> {
        if !self.all_answered(calls) {
            let ids = |calls: &[ToolCall]| calls.iter().map(|call| call.id).collect::<Vec<_>>();
            if ids(calls) != ids(self.last_calls()) {
                return Err(Interrupt::failed(
                    "the program makes some calls of the model's last turn, or in another order: `call_tools` takes all \
                     of them, as `call_model` returned them",
                ));
            }
            if !self.offered.position().by_program {
                self.refuse_after_last_call(calls).await?;
            }
            if let Some(answer) = calls.iter().position(|call| self.offered.tools().answers(call)) {
                self.decline(calls, answer + 1, AFTER_ANSWER).await?;
            }
            self.decline(calls, MOST_MADE, &too_many(calls.len())).await?;
            // Posts may have arrived while the model was asked, and no commit has reported that yet.
            if self.batch.has_writes() {
                self.inbox.doubt();
            }
            self.refresh().await?;
            if !self.inbox.is_empty() {
                // Applying the posts may make the activation start over; the turn is committed first, so that
                // the model is not asked for it twice.
                self.flush().await?;
            }
            self.apply_interventions().await?;
        }
        self.join_outputs(calls).await?;
        if !self.all_answered(calls) {
            let mut calls = self.with_sub_calls(calls);
            self.make_calls(&mut calls).await?;
            if !self.all_answered(calls.turn()) {
                return Err(Interrupt::Suspended(self.waits_on(&calls)));
            }
        }
        Ok(self.turn_outcome(calls))
    }

    /// Makes calls until each has its output or waits.
    async fn make_calls(&mut self, calls: &mut Calls<'_>) -> Result<()> {
        let begun = self.take_posts(calls).await?;
        let (mut running, mut order) = (Running::new(), Order::default());
        let cancel = self.control.cancel().clone();
        loop {
            // What has ended is committed before code goes on, so that it reads all of it at once.
            let ended = running.next().now_or_never().flatten();
            if ended.is_none() {
                self.begin_calls(calls, &begun, &mut running, &mut order).await?;
                // None may start once a caller was informed that the agent ends.
                if cancel.is_cancelled() {
                    self.flush().await?;
                    return Err(Interrupt::Stopping);
                }
            }
            let ended = ended.map(Some).or_else(|| running.next().now_or_never());
            let ran = match ended {
                Some(ran) => ran,
                None => {
                    // The turn is committed before the run waits for a slow call: it must not exist in
                    // memory only.
                    self.flush().await?;
                    tokio::select! {
                        biased;
                        ran = running.next() => ran,
                        () = cancel.cancelled() => return Err(Interrupt::Stopping),
                    }
                }
            };
            let Some(ran) = ran else {
                if self.all_answered(calls.turn()) || !self.break_deadlocks(calls).await? {
                    return Ok(());
                }
                continue;
            };
            let (index, outcome) = ran?;
            // The next call begins, with a time limit of its own.
            self.control.pulse().beat(self.engine.now());
            for (index, came) in order.ended(calls, index, CallOutcome::CallResult(outcome)) {
                self.settle(calls, index, came).await?;
            }
        }
    }

    /// Starts the calls that have not begun, and the code that can go on, until there is no more of either.
    async fn begin_calls(
        &mut self,
        calls: &mut Calls<'_>,
        begun: &[CallId],
        running: &mut Running,
        order: &mut Order,
    ) -> Result<()> {
        loop {
            let mut next: Vec<usize> = calls.take_new().filter(|index| !calls.is_waiting(*index)).collect();
            next.extend(calls.take_ready(|call| self.steps.is_answered(call)));
            if next.is_empty() {
                return Ok(());
            }
            self.dispatch(calls, &next, begun, (running, order)).await?;
        }
    }

    /// Gives the posts in the inbox to the calls that wait for them. Returns the calls that a person allowed
    /// to begin, or to begin again.
    pub(in crate::run) async fn take_posts(&mut self, calls: &Calls<'_>) -> Result<Vec<CallId>> {
        self.expire_overdue(calls).await?;
        self.resolve_granted(calls).await?;
        let mut begun = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let Some(wait) = self.steps.of_call(call).and_then(Step::wait).cloned() else { continue };
            let asked = match wait {
                Wait::HandedOver { task, worker, on_end } => {
                    let output = handed_over(call, task, &worker, on_end);
                    self.finish(calls, index, output, vec![]).await?;
                    continue;
                }
                Wait::Until { until } if self.is_due(until) => {
                    self.finish(calls, index, succeeded(call, "The time has passed."), vec![]).await?;
                    continue;
                }
                Wait::Until { .. } | Wait::SubCalls { .. } => continue,
                Wait::Question(asked) => Some(asked),
                Wait::Task { .. } | Wait::Join { .. } => None,
            };
            let Some(Taken { post, consume }) = self.inbox.take_reply(call.id) else { continue };
            let mut writes = vec![consume];
            // The wake-up for the question's expiry is no longer needed.
            let limit = asked.as_ref().and_then(|asked| asked.due);
            writes.extend(limit.map(|(_, wakeup)| Write::ConsumeWakeup(wakeup)));
            match reply_of(call, asked.as_ref(), &post) {
                Reply::Output(output) => self.finish(calls, index, output, writes).await?,
                Reply::Begin(arguments) => {
                    // The tool may have changed since the question was asked.
                    let made_with = arguments.clone().unwrap_or_else(|| self.arguments(call));
                    let refusal = self.offered.tools().allowed(&call.tool, &made_with).err();
                    let hold = self.must_ask_again(call, asked.as_ref(), &post).await?;
                    if let Some(refusal) = refusal {
                        self.finish(calls, index, self.refused_call(call, &refusal), writes).await?;
                    } else if let Some(hold) = hold {
                        self.request_approval(call, &hold, writes).await?;
                    } else {
                        self.begin(call, arguments, writes).await?;
                        begun.push(call.id);
                    }
                }
            }
        }
        Ok(begun)
    }

    /// Commits the intent of a call that waited, and that the agent is at work again.
    async fn begin(&mut self, call: &ToolCall, edited: Option<Value>, mut writes: Vec<Write>) -> Result<()> {
        let at = self.engine.now();
        writes.push(Write::Step(self.started(call, edited, at)));
        writes.extend(self.resumed_if_asleep(at));
        self.commit(writes).await
    }

    /// Starts those of these calls that have not begun, those begun ones that may be begun again, and code that goes on.
    /// The intent of a call that is not pure is committed before the call starts.
    async fn dispatch(
        &mut self,
        calls: &mut Calls<'_>,
        which: &[usize],
        begun: &[CallId],
        (running, order): (&mut Running, &mut Order),
    ) -> Result<()> {
        let offer = Arc::clone(self.offered.tools());
        let at = self.engine.now();
        let new = which.iter().map(|index| &calls[*index]).filter(|call| self.steps.of_call(call).is_none());
        let addresses = new.filter_map(|call| offer.find(&call.tool)?.tool.address(&call.arguments));
        let invented = Readings::of(self).invented(addresses.collect()).await?;
        let (mut ready, mut intents) = (Vec::new(), Vec::new());
        for &index in which {
            let call = &calls[index];
            let before = self.steps.of_call(call).map(Step::status);
            let goes_on =
                matches!(self.steps.of_call(call).and_then(Step::wait), Some(Wait::SubCalls { .. }));
            if (matches!(before, Some(StepStatus::Done | StepStatus::Open)) && !goes_on)
                || self.steps.is_answered(call.id)
            {
                continue;
            }
            let arguments = self.arguments(call);
            if self.is_in_doubt(call) && !begun.contains(&call.id) {
                self.ask_whether_it_happened(call).await?;
                continue;
            }
            let allowed = match calls.maker(index) {
                Some(_) => offer.allowed_to_code(&call.tool, &arguments),
                None => offer.allowed(&call.tool, &arguments),
            };
            let offered = match allowed {
                Ok(offered) => offered,
                Err(refusal) => {
                    self.finish(calls, index, self.refused_call(call, &refusal), vec![]).await?;
                    continue;
                }
            };
            let effect = if self.began_unsafe(call) { Effect::Unsafe } else { offered.effect };
            if before.is_none()
                && let Some(hold) = self.needs_approval_for(offered, call, &invented).await?
            {
                for (index, came) in order.ended(calls, index, CallOutcome::Held(hold)) {
                    self.settle(calls, index, came).await?;
                }
                continue;
            }
            if effect != Effect::Pure && before.is_none() {
                intents.push(Write::Step(self.started(call, None, at)));
            }
            // A call that waits for a place counts as in progress, so that later calls keep their order
            // behind it.
            order.begun(index, offered.tool.source() == ResultSource::Person);
            let mut sub_calls = self.sub_calls_on_record(calls, index);
            sub_calls.snapshot = self.snapshot(call.id).await?;
            if !sub_calls.outputs.is_empty() {
                calls.give(index, sub_calls.outputs.iter().map(|(number, _)| *number));
            }
            let call = &calls[index];
            let context = Context { sub_calls, ..self.context(call, effect, at) };
            ready.push((index, Arc::clone(&offered.tool), context, arguments));
        }
        if !intents.is_empty() {
            self.commit(intents).await?;
        }
        if ready.is_empty() {
            return Ok(());
        }
        let alone = ready.len() == 1 && running.is_empty();
        let seconds = self.kind.limits.tool_seconds;
        let engine = self.engine.clone();
        let begun = stream::iter(ready).map(move |(index, tool, context, arguments)| {
            let engine = engine.clone();
            async move {
                // Checked by each call: it may have waited long for its place.
                check_lease(&engine)?;
                let clock = Arc::clone(engine.clock());
                let ran =
                    async move { (index, run_tool(&*tool, &context, arguments, &*clock, seconds).await) };
                Ok(if alone { ran.await } else { beside_others(index, ran).await })
            }
        });
        running.push(begun.buffer_unordered(AT_ONCE).boxed());
        Ok(())
    }

    /// Commits the outcome of one call.
    async fn settle(&mut self, calls: &mut Calls<'_>, index: usize, came: CallOutcome) -> Result<()> {
        let outcome = match came {
            CallOutcome::Held(hold) => return self.request_approval(&calls[index], &hold, vec![]).await,
            CallOutcome::CallResult(outcome) => outcome,
        };
        let call = &calls[index];
        match outcome {
            Ok(Outcome::Done(done)) => {
                let effect = effect_of(done.said, done.answer);
                if effect.is_some() && calls.maker(index).is_some() {
                    return self.finish(calls, index, failed(call, NOT_BY_CODE), vec![]).await;
                }
                if matches!(effect, Some(OutputEffect::Answer(_))) && self.asks_beside(calls, index) {
                    return self.finish(calls, index, failed(call, ASKED_BESIDE), vec![]).await;
                }
                if let Some(refused) = self.refused(call, effect.as_ref()).await? {
                    return self.finish(calls, index, refused, vec![]).await;
                }
                if let Some(why) = done.records.iter().find_map(|record| reader::refused(&self.agent, record))
                {
                    return self.finish(calls, index, failed(call, why), vec![]).await;
                }
                if let Some(text) = done.progress {
                    let notice = ItemBody::Notice(Notice::new(NoticeCode::Progress, text));
                    let item = self.append(notice, self.engine.now());
                    self.batch.push(item);
                }
                // The details are for programs; what cannot be stored is left out.
                let details = done.details.filter(|details| check_nesting(details).is_ok());
                let output = Output { effect, details, ..succeeded(call, done.text) };
                self.finish_with_effects(calls, index, output, done.records, done.document).await
            }
            Ok(Outcome::Ask(ask)) => {
                self.ask(call, QuestionRequest::information(ask.text, ask.options), vec![]).await
            }
            Ok(Outcome::Delegate(delegate)) => Box::pin(self.delegate(calls, index, delegate)).await,
            Ok(Outcome::Await(time)) => {
                let at = self.engine.now();
                let due = at + time;
                let step =
                    self.steps.row(StepKey::Tool(call.id), StepState::Open(Wait::Until { until: due }), at);
                self.commit(vec![Write::Step(step), self.wake_at(due)]).await
            }
            Ok(Outcome::Calls(made)) => self.code_calls(calls, index, made).await,
            // As after a crash: the call may have taken effect, and only a person can say.
            Err(ToolError::TimedOut(_) | ToolError::InDoubt(_)) if self.is_in_doubt(call) => {
                self.ask_whether_it_happened(call).await
            }
            Err(error) => self.finish(calls, index, failed(call, error.to_string()), vec![]).await,
        }
    }

    /// Returns the step of a call that begins, with its intent.
    fn started(&self, call: &ToolCall, edited: Option<Value>, at: Time) -> Step {
        let intent = Some(self.intent(call, edited));
        Step { intent, ..self.steps.row(StepKey::Tool(call.id), StepState::Started, at) }
    }

    /// Returns the arguments that a call is made with: the agent's own, unless a person gave others.
    pub(in crate::run) fn arguments(&self, call: &ToolCall) -> Value {
        self.edited(call).unwrap_or(&call.arguments).clone()
    }

    fn context(&self, call: &ToolCall, effect: Effect, now: Time) -> Context {
        Context {
            call: call.id,
            effect,
            agent: self.agent.id,
            root: self.agent.root,
            works_for: self.agent.works_for,
            owner: self.agent.owner.clone(),
            kind: Arc::clone(&self.kind),
            now,
            reader: Arc::new(Reader::of(self.engine.store(), &self.agent)),
            sub_calls: SubCallRecord::default(),
            cancel: self.control.cancel().child_token(),
        }
    }

    fn all_answered(&self, calls: &[ToolCall]) -> bool {
        calls.iter().all(|call| self.steps.is_answered(call.id))
    }

    /// Returns what open calls wait on: a person first, since only a person can be asked to hurry.
    pub(in crate::run) fn waits_on(&self, calls: &Calls<'_>) -> WaitingOn {
        let waits = || calls.iter().filter_map(|call| self.steps.of_call(call)?.wait());
        let is_for_person = |wait: &Wait| matches!(wait, Wait::Question(_));
        let is_for_agent = |wait: &Wait| matches!(wait, Wait::Task { .. } | Wait::HandedOver { .. });
        if waits().any(is_for_person) {
            WaitingOn::User
        } else if waits().any(is_for_agent) {
            WaitingOn::Agent
        } else {
            WaitingOn::Timer
        }
    }
}

/// Returns the output of the calls that are too many for one turn.
fn too_many(calls: usize) -> String {
    format!(
        "Not run: {calls} calls in one turn are too many; only the first {MOST_MADE} were made. Make the \
         calls that are still needed in the next turn."
    )
}

/// Returns the output of a call whose delegated work continues without it.
pub(in crate::run) fn handed_over(call: &ToolCall, task: TaskId, worker: &str, on_end: OnEnd) -> Output {
    let given = format!("Task {task} was given to {worker}.");
    let text = match on_end {
        OnEnd::Answer | OnEnd::Wake => format!("{given} Its result will arrive as a message."),
        OnEnd::Join => format!("{given} Its result will be read when all such work has ended."),
        OnEnd::Quiet => given,
    };
    Output { effect: Some(OutputEffect::Delegated(task)), ..succeeded(call, text) }
}
