//! The limits of a run, checked before each model call. The first one that is met leaves one more call,
//! without tools: what the model answers then is the run's answer. The run ends with the limit as its reason.
//! Its kind may say that a limit means something else ([`OnLimit`]).

use std::time::Duration;

use entourage_types::{
    Item, ItemBody, Kind, Notice, NoticeCode, OnLimit, RunId, StepKey, StopReason, ToolCall,
};

use crate::{
    Engine,
    run::{
        Interrupt, Result, Run, Stop, control::Control, guards::loop_detection, run_record::RunRecord,
        steps::Steps, transcript::Transcript,
    },
};

/// How long the last model call may take: a partial answer is better than none.
const LAST_CALL: Duration = Duration::from_secs(60);

/// A limit that is met, and the text that says so.
pub(in crate::run) struct ReachedLimit {
    reason: StopReason,
    said: String,
    /// Whether one more call fits.
    leaves_one: bool,
}

impl ReachedLimit {
    fn leaving_one(reason: StopReason, said: String) -> Self {
        Self { reason, said, leaves_one: true }
    }
}

impl Run<'_> {
    /// Announces the last model call if a limit is met, or nearly; ends the run if that call was made, or if
    /// no call is left.
    pub(in crate::run) fn within_limits(&mut self) -> Result<()> {
        if let Some(notice) = self.limits().last_call() {
            // A program may go on: only a turn of the model is an answer.
            let is_turn = |item: &&Item| matches!(item.step, Some(StepKey::Model(_)));
            let is_made = self
                .limits()
                .latest_first()
                .take_while(|item| !is_last_call(item))
                .any(|item| is_turn(&item));
            return if is_made { Err(stopped(notice)) } else { Ok(()) };
        }
        let Some(ReachedLimit { reason, said, leaves_one }) = self.limits().met() else { return Ok(()) };
        if !leaves_one || !self.limits().has_last_call() {
            return Err(Interrupt::stopped(reason, said));
        }
        let notice = Notice::new(NoticeCode::LastCall(reason), said);
        let announced = self.append(ItemBody::Notice(notice), self.engine.now());
        self.batch.push(announced);
        Ok(())
    }

    /// Announces the last model call after one that the end of the run's time has cut off; ends the run if that
    /// was the last one.
    pub(in crate::run) fn out_of_time(&mut self) -> Result<()> {
        match self.limits().last_call() {
            Some(notice) => Err(stopped(notice)),
            None => self.within_limits(),
        }
    }

    /// Ends the run if the last model call asked for tools nevertheless, and said nothing: its calls are not made.
    pub(in crate::run) async fn refuse_after_last_call(&mut self, calls: &[ToolCall]) -> Result<()> {
        let Some(notice) = self.limits().last_call().cloned() else { return Ok(()) };
        self.decline(calls, 0, &format!("Not run: {}", notice.text)).await?;
        Err(stopped(&notice))
    }

    /// What the limits of the run are checked against.
    pub(in crate::run) fn limits(&self) -> RunLimits<'_> {
        let (engine, kind, record) = (self.engine, &*self.kind, &self.record);
        RunLimits {
            engine,
            kind,
            record,
            transcript: &self.transcript,
            steps: &self.steps,
            control: &self.control,
        }
    }
}

/// The limits of a run, with what they are checked against.
pub(in crate::run) struct RunLimits<'r> {
    pub(in crate::run) engine: &'r Engine,
    pub(in crate::run) kind: &'r Kind,
    pub(in crate::run) record: &'r RunRecord,
    pub(in crate::run) transcript: &'r Transcript,
    steps: &'r Steps,
    control: &'r Control,
}

impl<'r> RunLimits<'r> {
    /// Returns how long the next model call may take: until the run's time is over; the last call, for which it
    /// may be over already, a little longer.
    pub(in crate::run) fn time_left(&self) -> Duration {
        let most = Duration::from_secs(self.kind.limits.max_seconds);
        if self.last_call().is_some() { LAST_CALL } else { most.saturating_sub(self.worked()) }
    }

    /// Returns the notice that announced the last model call of this run, if there is one.
    pub(in crate::run) fn last_call(&self) -> Option<&'r Notice> {
        self.latest_first().find(|item| is_last_call(item)).and_then(|item| match &item.body {
            ItemBody::Notice(notice) => Some(notice),
            _ => None,
        })
    }

    /// Returns which of a model's calls join its turn. In the last model call, which offers no tools, a text is the
    /// answer, whatever calls come with it.
    pub(in crate::run) fn accepted_calls(&self, text: &str, calls: Vec<ToolCall>) -> Vec<ToolCall> {
        if calls.is_empty() || text.trim().is_empty() || self.last_call().is_none() {
            return calls;
        }
        let tools: Vec<&str> = calls.iter().map(|call| &*call.tool).collect();
        tracing::warn!(run = %self.record.id, ?tools, "the last answer of a run calls tools, which it was not offered");
        Vec::new()
    }

    /// Returns the limit that is met before the next model call, if any.
    pub(in crate::run) fn met(&self) -> Option<ReachedLimit> {
        let limits = &self.kind.limits;
        let most = self.record.max_steps(self.kind);
        let made = self.steps.turns();
        if made >= most {
            let said = format!("the run reached its limit of {most} model calls");
            return Some(ReachedLimit { reason: StopReason::MaxSteps, said, leaves_one: false });
        }
        if let Some((reason, said)) = self.overspent() {
            return Some(ReachedLimit { reason, said, leaves_one: false });
        }
        if self.has_last_call() && made + 1 == most {
            let said = format!("{made} of {most} model calls were made");
            return Some(ReachedLimit::leaving_one(StopReason::MaxSteps, said));
        }
        if self.has_last_call()
            && let Some((reason, said)) = self.nearly_spent()
        {
            return Some(ReachedLimit::leaving_one(reason, said));
        }
        if self.worked() >= Duration::from_secs(limits.max_seconds) {
            let said = format!("the run reached its limit of {} seconds of work", limits.max_seconds);
            return Some(ReachedLimit::leaving_one(StopReason::MaxTime, said));
        }
        if let Some(tool) = self.repeated(limits.max_same_tool) {
            let said = format!("`{tool}` was called {} times in a row", limits.max_same_tool);
            return Some(ReachedLimit::leaving_one(StopReason::SameTool, said));
        }
        if limits.max_history > 0 && self.history() >= limits.max_history {
            let said = format!("the run's history reached its limit of {} entries", limits.max_history);
            return Some(ReachedLimit::leaving_one(StopReason::MaxHistory, said));
        }
        let said = loop_detection::found(self.transcript.items(), limits.max_repeats as usize)?;
        Some(ReachedLimit::leaving_one(StopReason::Stalled, said))
    }

    /// Counts the entries of the run's own history as a model reads them: what the calls of one turn returned is one.
    fn history(&self) -> u32 {
        let (mut entries, mut is_in_outputs) = (0, false);
        for item in self.latest_first() {
            let is_output = matches!(item.body, ItemBody::Output(_));
            let is_entry = matches!(item.body, ItemBody::Message(_) | ItemBody::Turn(_));
            if is_entry || (is_output && !is_in_outputs) {
                entries += 1;
            }
            if is_entry || is_output {
                is_in_outputs = is_output;
            }
        }
        entries
    }

    /// Whether a limit leaves the run one more model call, for which the last one is kept.
    fn has_last_call(&self) -> bool {
        self.kind.on_limit != OnLimit::Fail
    }

    /// Returns what a run that a limit ended leaves as its result, if its kind takes that for an end like any other:
    /// the last text that it wrote, unless a guardrail or a schema would have had to accept it; otherwise how it ended.
    pub(in crate::run) fn finished_at_limit(&self, stop: &Stop) -> Option<String> {
        let finishes = self.kind.on_limit == OnLimit::Finish && stop.reason.is_limit();
        let is_unchecked = || {
            let kind = self.kind;
            kind.guardrails.output.is_empty()
                && kind.guardrails.min_calls == 0
                && kind.output_schema.is_none()
        };
        let written = || {
            let mut turns = self.latest_first().filter_map(|item| match (&item.body, &item.step) {
                (ItemBody::Turn(turn), Some(StepKey::Model(_))) if !turn.text.trim().is_empty() => {
                    Some(turn.text.clone())
                }
                _ => None,
            });
            turns.next().filter(|_| is_unchecked())
        };
        finishes.then(|| {
            written().unwrap_or_else(|| format!("It ended at a limit, without an answer: {}", stop.text))
        })
    }

    /// Returns the items of this run since the last instruction with which a phase began anew, latest first.
    fn latest_first(&self) -> impl Iterator<Item = &'r Item> + use<'r> {
        self.transcript.latest_of(self.record.id).take_while(|item| !begins_anew(item))
    }

    /// Returns how long this run has been at work, in this activation and in those before.
    pub(in crate::run) fn worked(&self) -> Duration {
        Duration::from_millis(self.record.worked_ms) + self.control.worked(self.engine.clock().tick())
    }

    /// Returns the tool that the last `times` turns of this run called, if they called no other.
    fn repeated(&self, times: u32) -> Option<&'r str> {
        let turns = self.latest_first().filter_map(|item| match (&item.body, &item.step) {
            // Calls made by the program do not count as the model's.
            (ItemBody::Turn(turn), Some(StepKey::Model(_))) => Some(turn),
            _ => None,
        });
        let turns: Vec<_> = turns.take(times as usize).collect();
        let last = turns.first()?.calls.first()?.tool.as_str();
        let only = |calls: &[ToolCall]| !calls.is_empty() && calls.iter().all(|call| call.tool == last);
        (turns.len() == times as usize && turns.iter().all(|turn| only(&turn.calls))).then_some(last)
    }
}

/// Whether the last of these items belongs to a run whose last model call was announced.
pub(crate) fn is_last_announced(items: &[Item], run: RunId) -> bool {
    items.iter().rev().take_while(|item| item.run == run && !begins_anew(item)).any(is_last_call)
}

/// Whether a phase begins anew with this item: so do the limits of the loop in it.
fn begins_anew(item: &Item) -> bool {
    matches!(item.step, Some(StepKey::Replaced(_)))
}

fn is_last_call(item: &Item) -> bool {
    matches!(&item.body, ItemBody::Notice(notice) if notice.last_call().is_some())
}

fn stopped(notice: &Notice) -> Interrupt {
    let cause = format!("{}, and the last call of the model gave no answer", notice.text);
    Interrupt::stopped(notice.last_call().unwrap_or(StopReason::Error), cause)
}
