//! Calls that the code of a call makes: each is a step of its own, made like a call of a model. What is on record of
//! them is what the code reads when it goes on.

use std::time::Duration;

use entourage_store::Write;
use entourage_tools::{CodeCalls, Error as ToolError, SubCallRecord};
use entourage_types::{
    Action, Backoff, CallId, CodeRetry, ItemBody, Output, Step, StepKey, StepState, SubCalls, SubOutput,
    Task, ToolCall, Wait,
};

use crate::metrics;
use crate::run::{
    Result, Run,
    tools::{
        calls::{Calls, CodeWait},
        output_limits::failed,
    },
    trace::RunSpans,
};
use crate::transcript_cache::of_value;

/// The output of a call for whose end its code did not wait.
const NOT_AWAITED: &str = "the code ended without waiting for it";

/// The most bytes of arguments that the code of one call gives its calls: they are in memory whenever its agent is at
/// work.
const MOST_ARGUMENTS: usize = 8 << 20;

/// The same each time that it waits, in a session that keeps as much as it may.
const MOST_OF_FULL: usize = 64 << 10;

/// When code is run again that could have gone on, had what runs it been there. The code has lost nothing meanwhile, so
/// this has no end.
const RETRIES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(300));

impl Run<'_> {
    /// The calls of a turn, with those that code of theirs has made which goes on.
    pub(in crate::run) fn with_sub_calls<'t>(&self, turn: &'t [ToolCall]) -> Calls<'t> {
        let mut calls = Calls::of(turn);
        for (index, call) in turn.iter().enumerate() {
            if let Some(Wait::SubCalls { groups, retry, .. }) = self.steps.of_call(call).and_then(Step::wait)
            {
                let made = self.sub_calls().filter(|made| made.of == call.id);
                let made: Vec<ToolCall> = made.flat_map(|made| made.calls.iter().cloned()).collect();
                let not_before = retry.as_ref().map(|retry| retry.due);
                calls.code_waits(index, made, CodeWait { groups: groups.clone(), not_before });
            }
        }
        calls
    }

    /// The calls that code of the last turn's calls has made, in order.
    fn sub_calls(&self) -> impl Iterator<Item = &SubCalls> {
        self.since_last_turn().iter().filter_map(|item| match &item.body {
            ItemBody::SubCalls(made) => Some(made),
            _ => None,
        })
    }

    /// Those without an output, each behind the call whose code made it.
    pub(in crate::run) fn open_sub_calls(&self) -> impl Iterator<Item = (CallId, &ToolCall)> {
        let all = self.sub_calls().flat_map(|made| made.calls.iter().map(|call| (made.of, call)));
        all.filter(|(_, call)| !self.steps.is_answered(call.id))
    }

    /// What is on record of the calls that the code of the call at this index has made.
    pub(in crate::run) fn sub_calls_on_record(&self, calls: &Calls<'_>, index: usize) -> SubCallRecord {
        let made: Vec<ToolCall> = calls.made_by(index).cloned().collect();
        if made.is_empty() {
            return SubCallRecord::default();
        }
        let outputs = self.since_last_turn().iter().filter_map(|item| match &item.body {
            ItemBody::SubOutput(SubOutput { of, output }) if *of == calls[index].id => {
                let number = made.iter().position(|call| call.id == output.call)?;
                Some((number, output.clone()))
            }
            _ => None,
        });
        let outputs = outputs.collect();
        let retry = self.code_retry(calls[index].id);
        let (failures, kills) = retry.map_or((0, 0), |retry| (retry.failures, retry.kills));
        SubCallRecord { calls: made, outputs, snapshot: None, failures, kills }
    }

    /// Adds the calls that the code of a call makes, and what it waits for.
    pub(in crate::run) async fn code_calls(
        &mut self,
        calls: &mut Calls<'_>,
        index: usize,
        CodeCalls { calls: new, awaits, snapshot }: CodeCalls,
    ) -> Result<()> {
        let call = &calls[index];
        let before = calls.made_by(index).count();
        let all = before + new.len();
        let waits_for_none = |group: &Vec<usize>| group.iter().all(|number| calls.was_given(index, *number));
        let given: usize = new.iter().map(|call| of_value(&call.arguments)).sum();
        let at_once = if self.transcript.is_full() { MOST_OF_FULL } else { MOST_ARGUMENTS };
        let given_before: usize = calls.made_by(index).map(|call| of_value(&call.arguments)).sum();
        let wrong = if calls.maker(index).is_some() {
            Some("code cannot run a tool that runs code itself".to_owned())
        } else if all > usize::from(CodeCalls::MOST) {
            Some(format!("the code makes more than {} calls: do less in one call", CodeCalls::MOST))
        } else if given > at_once || given_before + given > MOST_ARGUMENTS {
            let most = if given > at_once { at_once } else { MOST_ARGUMENTS } >> 10;
            Some(format!(
                "the code gives its calls more than {most} KiB of arguments: have agents read long texts themselves"
            ))
        } else if awaits.iter().map(Vec::len).sum::<usize>() > CodeCalls::MOST_AWAITED {
            Some("the code waits for too much at once: wait for each agent in one place".to_owned())
        } else if awaits.is_empty()
            || awaits.iter().flatten().any(|number| *number >= all)
            || awaits.iter().any(waits_for_none)
        {
            Some(
                "its code waits for no call: the tool is at fault, and its author must look at it".to_owned(),
            )
        } else {
            None
        };
        if let Some(wrong) = wrong {
            return self.finish(calls, index, failed(call, wrong), vec![]).await;
        }
        let at = self.engine.now();
        let of = call.id;
        let id = |number: usize| of.sub_call(u16::try_from(number).unwrap_or(u16::MAX));
        let new = new.into_iter().zip(before..);
        let made: Vec<ToolCall> = new
            .map(|(call, number)| ToolCall { id: id(number), tool: call.tool, arguments: call.arguments })
            .collect();
        let group = |group: Vec<usize>| group.into_iter().map(id).collect();
        let groups: Vec<Vec<CallId>> = awaits.into_iter().map(group).collect();
        let forgotten = self.without_snapshot(of).filter(|_| snapshot.is_none());
        self.batch.extend(forgotten);
        let has_snapshot = snapshot.is_some();
        if let Some(state) = snapshot {
            let kept = self.snapshot_of(of, &state, at)?;
            self.batch.push(kept);
        }
        let wait = Wait::SubCalls { groups: groups.clone(), snapshot: has_snapshot, retry: None };
        let state = StepState::Open(wait);
        let waits = self.steps.row(StepKey::Tool(of), state, at);
        // It is known at once: another output may come into the same commit.
        self.steps.committed([waits.clone()]);
        self.batch.push(Write::Step(waits));
        self.transcript.keep_bytes(given);
        if !made.is_empty() {
            let item = self.append(ItemBody::SubCalls(SubCalls { of, calls: made.clone() }), at);
            self.batch.push(item);
            let awake = self.resumed_if_asleep(at);
            self.batch.extend(awake);
        }
        calls.code_waits(index, made, CodeWait { groups, not_before: None });
        Ok(())
    }

    /// Whether the code of this call has made calls and waited for them.
    pub(in crate::run) fn has_waited(&self, call: &ToolCall) -> bool {
        matches!(self.steps.of_call(call).and_then(Step::wait), Some(Wait::SubCalls { .. }))
    }

    /// Has the code of a call, which could go on, wait once more, since what runs it was not there or was killed.
    pub(in crate::run) async fn retry_code(
        &mut self,
        calls: &mut Calls<'_>,
        index: usize,
        error: &ToolError,
    ) -> Result<()> {
        let call = &calls[index];
        let was_killed = matches!(error, ToolError::Killed(_));
        let error = error.to_string();
        let Some(Wait::SubCalls { groups, snapshot, retry }) = self.steps.of_call(call).and_then(Step::wait)
        else {
            return self.finish(calls, index, failed(call, error), vec![]).await;
        };
        let (groups, snapshot) = (groups.clone(), *snapshot);
        let before = retry.as_ref().map_or((0, 0), |retry| (retry.failures, retry.kills));
        let failures = before.0.saturating_add(1);
        let kills = before.1.saturating_add(was_killed.into());
        let at = self.engine.now();
        let due = at + RETRIES.after(failures);
        tracing::warn!(agent = %self.agent.id, call = %call.id, failures, %error, "code cannot be run; it is tried again");
        let retry = Some(CodeRetry { due, failures, kills, error });
        let state = StepState::Open(Wait::SubCalls { groups: groups.clone(), snapshot, retry });
        let step = self.steps.row(StepKey::Tool(call.id), state, at);
        calls.code_waits(index, [], CodeWait { groups, not_before: Some(due) });
        self.commit(vec![Write::Step(step), self.wake_at(due)]).await
    }

    /// When the code of a call is run again, if it could not be run.
    pub(in crate::run) fn code_retry(&self, call: CallId) -> Option<&CodeRetry> {
        self.steps.get(&StepKey::Tool(call))?.code_retry()
    }

    /// Has code that is to be run again be due now, in the commit that consumes what a person asked for: another process
    /// runs it if this one ends before.
    pub(in crate::run) fn hurry_code(&mut self) {
        let at = self.engine.now();
        let hurried = |step: &Step| match (&step.state, step.code_retry()) {
            (StepState::Open(Wait::SubCalls { groups, snapshot, .. }), Some(retry)) => {
                let (groups, snapshot) = (groups.clone(), *snapshot);
                let retry = Some(CodeRetry { due: at, ..retry.clone() });
                Some((step.key.clone(), StepState::Open(Wait::SubCalls { groups, snapshot, retry })))
            }
            _ => None,
        };
        let hurried: Vec<_> = self.steps.iter().filter_map(hurried).collect();
        for (key, state) in hurried {
            let step = self.steps.row(key, state, at);
            self.steps.committed([step.clone()]);
            self.batch.push(Write::Step(step));
        }
    }

    /// Commits the output of a call that the code of the call `of` made, with these writes.
    pub(in crate::run) async fn finish_sub_call(
        &mut self,
        calls: &Calls<'_>,
        index: usize,
        of: CallId,
        output: Output,
        mut writes: Vec<Write>,
    ) -> Result<()> {
        let at = self.engine.now();
        let returned = SubOutput { of, output: output.clone() };
        writes.extend(self.checkpoint(StepKey::Tool(calls[index].id), returned, 1, at));
        if calls.is_awaited(index) {
            writes.extend(self.resumed_if_asleep(at));
        }
        self.commit(writes).await?;
        metrics::tool_step_done();
        RunSpans::of(self).call(&calls[index], &output);
        Ok(())
    }

    /// Ends what the code of a call has left open, before the call gets its output: calls in progress are cut off, agents
    /// that it started deleted, those that existed before stopped, and questions that it asked withdrawn.
    pub(in crate::run) async fn drop_sub_calls(&mut self, calls: &Calls<'_>, index: usize) -> Result<()> {
        let call = &calls[index];
        calls.cut_off(index);
        let open: Vec<CallId> =
            self.open_sub_calls().filter(|(of, _)| *of == call.id).map(|(_, call)| call.id).collect();
        if open.is_empty() {
            return Ok(());
        }
        // One of them may end at this moment, which refuses the commit.
        self.flush().await?;
        let tasks = self.open_tasks(|task| open.contains(&task.call)).await?;
        let tasks: Vec<(Task, Action)> =
            tasks.into_iter().map(|task| self.dropped(task, Action::Delete)).collect();
        let mut writes = Vec::new();
        for (task, action) in &tasks {
            self.cancel_task(task.clone(), *action, &mut writes)?;
        }
        self.close_sub_calls(NOT_AWAITED, |of| of == call.id, &mut writes).await?;
        self.commit(writes).await?;
        for (task, action) in tasks {
            self.interrupt_cancelled(&task, action);
        }
        Ok(())
    }
}
