//! Makes the calls of a turn, and those of their code, until each has its output or waits.

use std::{sync::Arc, time::Duration};

use entourage_store::Write;
use entourage_tools::{Context, Effect, Error as ToolError};
use entourage_types::{Action, CallId, ResultSource, Step, StepStatus, Time};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    Tick,
    run::{
        Interrupt, Result, Run, check_lease,
        delegation::order::{CallOutcome, Order},
        guards::taint::Readings,
        tools::calls::Calls,
        tools::execute::{CallResult, beside_others, run_tool},
    },
};

/// The most calls of a turn and of its code that run at once. The others begin as these end, so that few of the calls of
/// code have begun when a person pauses the agent.
const AT_ONCE: usize = 16;

/// Running calls, as part of the activation: they end with it. An error once this node may begin no more.
struct Running {
    calls: FuturesUnordered<BoxFuture<'static, Result<Ran>>>,
    places: Arc<Semaphore>,
    /// When calls waited for places of their tools: in order, and none meets another.
    waits: Vec<(Tick, Tick)>,
}

/// What has come meanwhile.
#[derive(PartialEq, Eq)]
enum Heard {
    /// Nothing that keeps calls from beginning.
    GoOn,
    /// A person has intervened: that is applied once no call is in progress.
    Hold,
}

/// A call that has ended.
struct Ran {
    result: CallResult,
    /// From when to when it waited for a place of its tool.
    waited: Option<(Tick, Tick)>,
}

impl Running {
    fn new() -> Self {
        Self { calls: FuturesUnordered::new(), places: Arc::new(Semaphore::new(AT_ONCE)), waits: Vec::new() }
    }

    /// Counts a call's wait for a place of its tool. Returns the part of it in which no other call waited for one.
    fn add_wait(&mut self, wait: (Tick, Tick)) -> Duration {
        let in_all =
            |waits: &[(Tick, Tick)]| waits.iter().map(|(from, until)| until.since(*from)).sum::<Duration>();
        let before = in_all(&self.waits);
        self.waits.push(wait);
        self.waits.sort_unstable();
        self.waits.dedup_by(|later, earlier| {
            let meets = later.0 <= earlier.1;
            if meets {
                earlier.1 = earlier.1.max(later.1);
            }
            meets
        });
        in_all(&self.waits) - before
    }
}

impl Run<'_> {
    /// Makes calls until each has its output or waits.
    pub(in crate::run) async fn make_calls(&mut self, calls: &mut Calls<'_>) -> Result<()> {
        let mut begun = Vec::new();
        let (mut running, mut order) = (Running::new(), Order::default());
        let (cancel, woken) = (self.control.cancel().clone(), Arc::clone(self.control.woken()));
        loop {
            // What has ended is committed before code goes on, so that it reads all of it at once.
            let ended = running.calls.next().now_or_never().flatten();
            let heard = self.moment();
            if ended.is_none() {
                self.stop_if(&cancel).await?;
                if self.hear(calls, &mut begun, &mut running).await? == Heard::GoOn {
                    self.begin_calls(calls, &begun, &mut running, &mut order).await?;
                }
                // None may start once a caller was informed that the agent ends.
                self.stop_if(&cancel).await?;
            }
            let ended = ended.map(Some).or_else(|| running.calls.next().now_or_never());
            let ran = match ended {
                Some(ran) => ran,
                None => {
                    // The turn is committed before the run waits for a slow call: it must not exist in
                    // memory only.
                    self.flush().await?;
                    let due = self.next_due(calls, heard);
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
                self.control.waited(running.add_wait(waited));
            }
            // The next call begins, with a time limit of its own.
            self.control.pulse().beat(self.engine.clock().tick());
            for (index, came) in order.ended(calls, index, CallOutcome::CallResult(outcome)) {
                self.settle(calls, index, came).await?;
            }
        }
    }

    /// When a call that waits for a time, a question that expires, or code that is tried again, goes on beside calls in
    /// progress; what was due when all of them were last looked at has gone on.
    fn next_due(&self, calls: &Calls<'_>, heard: Time) -> Option<Time> {
        let later = |due: &Time| *due > heard;
        if calls.have_code() { self.steps.dues().into_iter().map(|(due, _)| due).find(later) } else { None }
    }

    /// Ends the activation where it is if that was asked for; what it has done until here is on record.
    async fn stop_if(&mut self, cancel: &CancellationToken) -> Result<()> {
        if cancel.is_cancelled() {
            self.flush().await?;
            return Err(Interrupt::Stopping);
        }
        Ok(())
    }

    /// Gives what has arrived since to the calls that wait for it, and applies what a person did, unless that waits for the
    /// calls in progress.
    async fn hear(
        &mut self,
        calls: &mut Calls<'_>,
        begun: &mut Vec<CallId>,
        running: &mut Running,
    ) -> Result<Heard> {
        let (is_first, any_runs) = (calls.are_new(), !running.calls.is_empty());
        // Only code can go on for long without an end of the turn: all else is read at its beginning.
        if calls.have_code() {
            self.refresh().await?;
            let (holds, retries) = (self.is_intervened(), self.has_intervention(Action::Retry));
            if any_runs && holds {
                return Ok(Heard::Hold);
            }
            if holds || retries {
                self.flush().await?;
                self.apply_interventions().await?;
                if retries {
                    calls.hurry();
                }
            }
        } else if !is_first && self.inbox.is_empty() {
            return Ok(Heard::GoOn);
        }
        let begins = self.take_posts(calls, running.places.available_permits()).await?;
        calls.begin_again(&begins);
        begun.extend(begins);
        Ok(Heard::GoOn)
    }

    /// Starts the calls that have not begun, as far as there are places, and the code that can go on, until there is no
    /// more of either.
    async fn begin_calls(
        &mut self,
        calls: &mut Calls<'_>,
        begun: &[CallId],
        running: &mut Running,
        order: &mut Order,
    ) -> Result<()> {
        loop {
            let new = calls.take_new(running.places.available_permits());
            let mut next: Vec<usize> =
                new.into_iter().filter(|index| !calls.has_waiting_code(*index)).collect();
            // The intents of these are on record: they have the first places.
            next.sort_by_key(|index| !begun.contains(&calls[*index].id));
            next.extend(calls.take_ready(self.moment(), |call| self.steps.is_answered(call)));
            if next.is_empty() {
                return Ok(());
            }
            self.dispatch(calls, &next, begun, (running, order)).await?;
            for (index, came) in order.free(calls) {
                self.settle(calls, index, came).await?;
            }
        }
    }

    /// Starts those of these calls that have not begun, those begun ones that may be begun again, and code that goes on; puts
    /// off those for which there is no place. The intent of a call that is not pure is committed before the call starts.
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
        let (mut ready, mut intents, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for &index in which {
            // It may have been put off before.
            order.dropped(index);
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
                held.push((index, hold));
                continue;
            }
            // A call that waits for a place counts as in progress, so that later calls keep their order
            // behind it.
            let asks = offered.tool.source() == ResultSource::Person;
            order.begun(index, asks);
            // Code has places of its own, and who asks a person is done at once.
            let place = if asks || !offered.tool.comes_with().is_empty() {
                None
            } else if let Ok(place) = Arc::clone(&running.places).try_acquire_owned() {
                Some(place)
            } else {
                calls.put_off(index);
                continue;
            };
            if effect != Effect::Pure && before.is_none() {
                intents.push(Write::Step(self.started(call, None, at)));
            }
            let mut sub_calls = self.sub_calls_on_record(calls, index);
            sub_calls.snapshot = self.snapshot(call.id).await?;
            if !sub_calls.outputs.is_empty() {
                calls.give(index, sub_calls.outputs.iter().map(|(number, _)| *number));
            }
            let cut_off = calls.begin(index);
            let context = Context { sub_calls, ..self.context(&calls[index], effect, at) };
            ready.push((index, Arc::clone(&offered.tool), context, arguments, (cut_off, place)));
        }
        for (index, hold) in held {
            for (index, came) in order.ended(calls, index, CallOutcome::Held(hold)) {
                self.settle(calls, index, came).await?;
            }
        }
        if !intents.is_empty() {
            // The last commit before these calls start: no intent is written of a call that does not.
            let cancel = self.control.cancel().clone();
            self.stop_if(&cancel).await?;
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
                        let from = clock.tick();
                        let place = pulse.resting(&*clock, places.enter(&context.owner)).await;
                        (Some(place), Some((from, clock.tick())))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits are counted when their calls end, in any order, and each moment once.
    #[test]
    fn the_time_that_calls_waited_for_places_is_counted_once() {
        let mut running = Running::new();
        let mut add = |from: u64, until: u64| {
            let at = |seconds: u64| Tick::from_micros(seconds * 1_000_000);
            running.add_wait((at(from), at(until))).as_secs()
        };
        assert_eq!(add(50, 60), 10);
        assert_eq!(add(0, 10), 10);
        assert_eq!(add(5, 55), 40);
        assert_eq!(add(20, 30), 0);
        assert_eq!(add(70, 70), 0);
        assert_eq!(add(55, 80), 20);
    }
}
