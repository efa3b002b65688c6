//! Makes the calls of a turn, and those of their code, until each has its output or waits.

use std::{sync::Arc, time::Duration};

use entourage_store::Write;
use entourage_tools::{Context, Effect, Error as ToolError};
use entourage_types::{Action, CallId, Post, PostBody, ResultSource, Step, StepStatus, Time, WakeupId};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::sync::Semaphore;

use crate::run::{
    Interrupt, Result, Run, check_lease,
    delegation::order::{CallOutcome, Order},
    guards::taint::Readings,
    tools::calls::Calls,
    tools::execute::{CallResult, beside_others, run_tool},
};

/// The most calls of a turn and of its code that run at once. The others begin as these end, so that a person who pauses
/// the agent meets few that have begun.
const AT_ONCE: usize = 16;

/// Running calls, as part of the activation: they end with it. An error once this node may begin no more.
struct Running {
    calls: FuturesUnordered<BoxFuture<'static, Result<Ran>>>,
    places: Arc<Semaphore>,
    /// Until when the time that calls waited for places of their tools is counted.
    waited_until: Time,
}

/// A call that has ended.
struct Ran {
    result: CallResult,
    /// From when to when it waited for a place of its tool.
    waited: Option<(Time, Time)>,
}

impl Running {
    fn new(now: Time) -> Self {
        Self { calls: FuturesUnordered::new(), places: Arc::new(Semaphore::new(AT_ONCE)), waited_until: now }
    }

    /// For how long nothing was waited for before this call waited.
    fn waited(&mut self, (from, until): (Time, Time)) -> Duration {
        let from = from.max(self.waited_until);
        self.waited_until = self.waited_until.max(until);
        until.since(from)
    }
}

impl Run<'_> {
    /// Makes calls until each has its output or waits.
    pub(in crate::run) async fn make_calls(&mut self, calls: &mut Calls<'_>) -> Result<()> {
        let mut begun = self.take_posts(calls).await?;
        let (mut running, mut order) = (Running::new(self.engine.now()), Order::default());
        let (cancel, woken) = (self.control.cancel().clone(), Arc::clone(self.control.woken()));
        loop {
            // What has ended is committed before code goes on, so that it reads all of it at once.
            let ended = running.calls.next().now_or_never().flatten();
            if ended.is_none() && !self.is_held(calls, &mut begun, !running.calls.is_empty()).await? {
                self.begin_calls(calls, &begun, &mut running, &mut order).await?;
                for (index, came) in order.free(calls) {
                    self.settle(calls, index, came).await?;
                }
                // None may start once a caller was informed that the agent ends.
                if cancel.is_cancelled() {
                    self.flush().await?;
                    return Err(Interrupt::Stopping);
                }
            }
            let ended = ended.map(Some).or_else(|| running.calls.next().now_or_never());
            let ran = match ended {
                Some(ran) => ran,
                None => {
                    // The turn is committed before the run waits for a slow call: it must not exist in
                    // memory only.
                    self.flush().await?;
                    let due = self.next_due(calls);
                    let clock = Arc::clone(self.engine.clock());
                    let due = async {
                        match due {
                            Some(due) => clock.sleep_until(due).await,
                            None => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        biased;
                        ran = running.calls.next() => ran,
                        () = cancel.cancelled() => return Err(Interrupt::Stopping),
                        () = woken.notified(), if calls.have_code() => {
                            self.inbox.doubt();
                            continue;
                        }
                        () = due => {
                            self.inbox.doubt();
                            continue;
                        }
                    }
                }
            };
            let Some(ran) = ran else {
                if self.all_answered(calls.turn()) || !self.break_deadlocks(calls).await? {
                    return Ok(());
                }
                continue;
            };
            let Ran { result: (index, outcome), waited } = ran?;
            if let Some(waited) = waited {
                self.control.waited(running.waited(waited));
            }
            // The next call begins, with a time limit of its own.
            self.control.pulse().beat(self.engine.now());
            for (index, came) in order.ended(calls, index, CallOutcome::CallResult(outcome)) {
                self.settle(calls, index, came).await?;
            }
        }
    }

    /// When a call that waits for a time, or code that is tried again, goes on beside calls in progress. A question that
    /// expires is closed when none is: a person may answer at that moment, and the activation begins anew.
    fn next_due(&self, calls: &Calls<'_>) -> Option<Time> {
        let now = self.moment();
        let later = |(due, wakeup): &(Time, Option<WakeupId>)| *due > now && wakeup.is_none();
        if calls.have_code() { self.steps.dues().into_iter().find(later).map(|(due, _)| due) } else { None }
    }

    /// Gives what has arrived since to the calls that wait for it. Returns whether a person has intervened: then nothing
    /// begins, and once nothing runs the intervention is applied.
    async fn is_held(
        &mut self,
        calls: &mut Calls<'_>,
        begun: &mut Vec<CallId>,
        any_runs: bool,
    ) -> Result<bool> {
        // Only code can go on for long without an end of the turn.
        if !calls.have_code() {
            return Ok(false);
        }
        self.refresh().await?;
        let (holds, retries) = (self.is_intervened(), self.inbox.posts().iter().any(is_retry));
        if any_runs && holds {
            return Ok(true);
        }
        if !any_runs && (holds || retries) {
            self.flush().await?;
            self.apply_interventions().await?;
            if retries {
                calls.hurry();
            }
        }
        let begins = match any_runs {
            true => self.take_replies(calls).await?,
            false => self.take_posts(calls).await?,
        };
        calls.begin_again(&begins);
        begun.extend(begins);
        Ok(false)
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
            let new = calls.take_new(running.places.available_permits());
            let was_last = new.is_empty();
            let mut next: Vec<usize> =
                new.into_iter().filter(|index| !calls.has_waiting_code(*index)).collect();
            next.extend(calls.take_ready(self.moment(), |call| self.steps.is_answered(call)));
            if next.is_empty() && was_last {
                return Ok(());
            }
            self.dispatch(calls, &next, begun, (running, order)).await?;
        }
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
            if (matches!(before, Some(StepStatus::Done | StepStatus::Open)) && !self.has_waited(call))
                || self.steps.is_answered(call.id)
            {
                continue;
            }
            let arguments = self.arguments(call);
            if self.is_in_doubt(call) && !begun.contains(&call.id) {
                self.ask_whether_it_happened(call).await?;
                continue;
            }
            let offered = match offer.allowed_to(calls.maker(index).is_some(), &call.tool, &arguments) {
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
            // Code has places of its own, and a call that waits for one counts as in progress.
            let runs_code = !offered.tool.comes_with().is_empty();
            let place = if runs_code { None } else { Arc::clone(&running.places).try_acquire_owned().ok() };
            order.begun(index, offered.tool.source() == ResultSource::Person);
            let mut sub_calls = self.sub_calls_on_record(calls, index);
            sub_calls.snapshot = self.snapshot(call.id).await?;
            if !sub_calls.outputs.is_empty() {
                calls.give(index, sub_calls.outputs.iter().map(|(number, _)| *number));
            }
            let cut_off = calls.begin(index);
            let context = Context { sub_calls, ..self.context(&calls[index], effect, at) };
            ready.push((index, Arc::clone(&offered.tool), context, arguments, (cut_off, place)));
        }
        if !intents.is_empty() {
            self.commit(intents).await?;
        }
        if ready.is_empty() {
            return Ok(());
        }
        let alone = ready.len() == 1 && running.calls.is_empty();
        let seconds = self.kind.limits.tool_seconds;
        let engine = self.engine.clone();
        let pulse = Arc::clone(self.control.pulse());
        let begun = ready.into_iter().map(move |(index, tool, context, arguments, (cut_off, place))| {
            let (engine, pulse) = (engine.clone(), Arc::clone(&pulse));
            let call = async move {
                let _place = place;
                let clock = Arc::clone(engine.clock());
                let (_place_of_tool, waited) = match tool.places() {
                    Some(places) => {
                        let from = clock.now();
                        let place = pulse.resting(&*clock, places.enter(&context.owner)).await;
                        (Some(place), Some((from, clock.now())))
                    }
                    None => (None, None),
                };
                // Checked by each call: it may have waited long for its place.
                check_lease(&engine)?;
                let ran =
                    async move { (index, run_tool(&*tool, &context, arguments, &*clock, seconds).await) };
                let result = if alone { ran.await } else { beside_others(index, ran).await };
                Ok(Ran { result, waited })
            };
            async move {
                let Some(cut_off) = cut_off else { return call.await };
                // It is answered already: its code has ended.
                let ended = || (index, Err(ToolError::Failed("its code has ended".into())));
                let ran = cut_off.run_until_cancelled(call).await;
                ran.unwrap_or_else(|| Ok(Ran { result: ended(), waited: None }))
            }
            .boxed()
        });
        running.calls.extend(begun);
        Ok(())
    }
}

/// Whether a person wants what is tried again to be tried now.
fn is_retry(post: &Post) -> bool {
    matches!(post.body, PostBody::Intervention { action: Action::Retry, .. })
}
