//! The calls of one turn: one step each, run concurrently. Each outcome is committed when it arrives; the
//! outputs join the transcript together, in the order of the calls, once all are there.

use std::sync::Arc;

use entourage_store::Write;
use entourage_tools::{Context, Effect, Error as ToolError, Outcome, SubCallRecord};
use entourage_types::{
    CallId, ItemBody, Notice, NoticeCode, OnEnd, Output, OutputEffect, Step, StepKey, StepState, TaskId,
    Time, ToolCall, Wait, WaitingOn, check_nesting,
};
use serde_json::Value;

use crate::reader::{self, Reader};
use crate::run::{
    Interrupt, Result, Run,
    delegation::order::CallOutcome,
    inbox::Taken,
    questions::ask::{ASKED_BESIDE, QuestionRequest},
    questions::reply::{Reply, reply_of},
    tools::calls::Calls,
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

    /// Gives the posts in the inbox to the calls that wait for them. Returns the calls that a person allowed
    /// to begin, or to begin again: at most `places`, and what a person said of the others stays unread.
    pub(in crate::run) async fn take_posts(
        &mut self,
        calls: &Calls<'_>,
        places: usize,
    ) -> Result<Vec<CallId>> {
        self.expire_overdue(calls).await?;
        self.resolve_granted(calls).await?;
        self.take_replies(calls, places).await
    }

    async fn take_replies(&mut self, calls: &Calls<'_>, places: usize) -> Result<Vec<CallId>> {
        let (mut begun, mut intents, replies) = (Vec::new(), Vec::new(), self.inbox.replies());
        for (index, call) in calls.iter().enumerate() {
            let goes_on = |wait: &&Wait| match wait {
                Wait::HandedOver { .. } | Wait::Until { .. } => true,
                _ => replies.contains(&call.id),
            };
            let wait = self.steps.of_call(call).and_then(Step::wait).filter(goes_on).cloned();
            let Some(wait) = wait else { continue };
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
            let Some(post) = self.inbox.reply(call.id) else { continue };
            let reply = reply_of(call, asked.as_ref(), post);
            // Its intent is written when it begins, and not before.
            let begins = begun.len() < places && !self.control.cancel().is_cancelled();
            if matches!(reply, Reply::Begin(_)) && !begins {
                continue;
            }
            let Some(Taken { post, consume }) = self.inbox.take_reply(call.id) else { continue };
            let mut writes = vec![consume];
            // The wake-up for the question's expiry is no longer needed.
            let limit = asked.as_ref().and_then(|asked| asked.due);
            writes.extend(limit.map(|(_, wakeup)| Write::ConsumeWakeup(wakeup)));
            match reply {
                Reply::Output(output) => self.finish(calls, index, output, writes).await?,
                Reply::Instead(output) => {
                    let error = calls.maker(index).is_some();
                    self.finish(calls, index, Output { error, ..output }, writes).await?;
                }
                Reply::Begin(arguments) => {
                    // The tool may have changed since the question was asked.
                    let made_with = arguments.clone().unwrap_or_else(|| self.arguments(call));
                    let is_code = calls.maker(index).is_some();
                    let refusal = self.offered.tools().allowed_to(is_code, &call.tool, &made_with).err();
                    let hold = self.must_ask_again((call, is_code), asked.as_ref(), &post).await?;
                    if let Some(refusal) = refusal {
                        self.finish(calls, index, self.refused_call(call, &refusal), writes).await?;
                    } else if let Some(hold) = hold {
                        self.request_approval(call, &hold, writes).await?;
                    } else {
                        let at = self.engine.now();
                        writes.push(Write::Step(self.started(call, arguments, at)));
                        intents.extend(writes);
                        begun.push(call.id);
                    }
                }
            }
        }
        // One commit, the last before they begin.
        if !intents.is_empty() {
            intents.extend(self.resumed_if_asleep(self.engine.now()));
            self.commit(intents).await?;
        }
        Ok(begun)
    }

    /// Commits the outcome of one call.
    pub(in crate::run) async fn settle(
        &mut self,
        calls: &mut Calls<'_>,
        index: usize,
        came: CallOutcome,
    ) -> Result<()> {
        // Its code has ended meanwhile.
        if self.steps.is_answered(calls[index].id) {
            return Ok(());
        }
        let outcome = match came {
            CallOutcome::Held(hold) if self.is_granted(&calls[index], &hold).await? => {
                calls.look_again(index);
                return Ok(());
            }
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
                for text in done.progress {
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
            Err(error @ (ToolError::Unavailable(_) | ToolError::Killed(_))) if self.has_waited(call) => {
                self.retry_code(calls, index, &error).await
            }
            // As after a crash: the call may have taken effect, and only a person can say.
            Err(ToolError::TimedOut(_) | ToolError::InDoubt(_)) if self.is_in_doubt(call) => {
                self.ask_whether_it_happened(call).await
            }
            Err(error) => self.finish(calls, index, failed(call, error.to_string()), vec![]).await,
        }
    }

    /// Returns the step of a call that begins, with its intent.
    pub(in crate::run) fn started(&self, call: &ToolCall, edited: Option<Value>, at: Time) -> Step {
        let intent = Some(self.intent(call, edited));
        Step { intent, ..self.steps.row(StepKey::Tool(call.id), StepState::Started, at) }
    }

    /// Returns the arguments that a call is made with: the agent's own, unless a person gave others.
    pub(in crate::run) fn arguments(&self, call: &ToolCall) -> Value {
        self.edited(call).unwrap_or(&call.arguments).clone()
    }

    pub(in crate::run) fn context(&self, call: &ToolCall, effect: Effect, now: Time) -> Context {
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

    pub(in crate::run) fn all_answered(&self, calls: &[ToolCall]) -> bool {
        calls.iter().all(|call| self.steps.is_answered(call.id))
    }

    /// Returns what open calls wait on: a person first, since only a person can be asked to hurry.
    pub(in crate::run) fn waits_on(&self, calls: &Calls<'_>) -> WaitingOn {
        let waits = || calls.iter().filter_map(|call| self.steps.of_call(call)?.wait());
        let is_for_person = |wait: &Wait| matches!(wait, Wait::Question(_));
        let is_for_agent = |wait: &Wait| matches!(wait, Wait::Task { .. } | Wait::HandedOver { .. });
        let is_tried_again = |call| self.code_retry(call).is_some();
        if waits().any(is_for_person) {
            WaitingOn::User
        } else if waits().any(is_for_agent) {
            WaitingOn::Agent
        } else if calls.iter().any(|call| is_tried_again(call.id)) {
            WaitingOn::Retry
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
