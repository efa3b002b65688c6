//! A call between its attempts: what failed, and the sleep on disk until it is tried again or a budget has room.

use std::time::Duration;

use entourage_llm::Error as ModelError;
use entourage_store::{BudgetChange, Write};
use entourage_types::{BudgetId, Failed, FailedTry, Retry, Step, StepKey, StepState, Time, WaitingOn};

use crate::{
    budget::Unaffordable,
    retry,
    run::{Interrupt, Run, Stop},
};

/// How many characters of the error of a failed attempt are stored.
const ERROR: usize = 500;

/// A grant wakes those that wait for one, and so do a reload of the kinds and the next start, where these or the
/// settings allow more. Beside that they look again after this time: they may have fallen asleep at that very moment.
const LOOKS_AGAIN: Duration = Duration::from_secs(15 * 60);

/// The progress of a call over its failed attempts.
pub(super) struct FailedTries {
    /// What its step stores while the run sleeps.
    pub(super) kept: Retry,
    /// How many requests were sent.
    pub(super) made: u32,
}

impl FailedTries {
    /// Before the first attempt.
    pub(super) fn none() -> Self {
        let due = Time::from_micros(0);
        let (said, failed) = (Vec::new(), Vec::new());
        let (error, shortage) = (String::new(), None);
        let (models_failed, spent, put_off, held_back) = (0, 0, 0, false);
        let kept = Retry { due, error, models_failed, said, spent, failed, put_off, shortage, held_back };
        Self { kept, made: 0 }
    }

    /// Notes an attempt that failed.
    pub(super) fn failed(&mut self, at: Time, model: Option<String>, error: &ModelError) {
        let class = Some(retry::class(error));
        let error = error.to_string().chars().take(ERROR).collect();
        self.kept.failed.push(FailedTry { at, model, class, error });
    }

    /// Returns the stop of a call that failed for good; its cause lists the recorded errors of the models and
    /// this last one. People also read that it was tried more than once.
    pub(super) fn last_word(mut self, error: &ModelError) -> Interrupt {
        self.kept.said.push(error.to_string());
        let stop = Stop::of_model(error, self.kept.said.join("; "));
        let text = match self.kept.failed.len() {
            0 | 1 => stop.text,
            attempts => format!("Failed permanently after {attempts} attempts: {}", stop.text),
        };
        let attempts = u32::try_from(self.kept.failed.len()).unwrap_or(u32::MAX);
        let failed = Some(Failed { class: retry::class(error), attempts });
        Interrupt::Stopped(Stop { text, failed, ..stop })
    }
}

impl Run<'_> {
    /// Sleeps on disk until a budget has room for the call: calls under way settle, a person grants more, or the
    /// next day begins; or until another model, which was skipped, can be asked. All of it is the commit in which the
    /// run falls asleep, so that a grant finds it asleep or is found by it.
    pub(super) fn wait_for_budget(
        &mut self,
        key: &StepKey,
        mut tries: FailedTries,
        lacking: Unaffordable,
        soonest: Option<Duration>,
    ) -> Interrupt {
        let Unaffordable { shortage, lacks } = lacking;
        let now = self.engine.now();
        let due = match (&lacks, &shortage.budget) {
            (None, _) => now + retry::put_off(self.agent.id, tries.kept.put_off),
            (Some(_), BudgetId::Tree(_)) => now + LOOKS_AGAIN,
            (Some(_), BudgetId::Day(day, _)) => day.next().begins().min(now + LOOKS_AGAIN),
        };
        let skipped = soonest.map(|pause| now + pause).filter(|skipped| *skipped < due);
        // While calls under way may leave enough, or another model may be asked, nothing is said.
        let lacks = lacks.filter(|_| skipped.is_none());
        let before = tries.kept.shortage.as_ref().filter(|_| tries.kept.put_off == 0);
        let has_said = before.is_some_and(|before| before.budget == shortage.budget);
        if lacks.is_some() && !has_said {
            self.say_over_budget(&shortage);
        }
        let last = tries.kept.failed.last().filter(|_| soonest.is_some());
        let error = last.map_or_else(|| shortage.to_string(), |failed| failed.error.clone());
        (tries.kept.due, tries.kept.error) = (skipped.unwrap_or(due), error);
        tries.kept.put_off = if lacks.is_some() { 0 } else { tries.kept.put_off + 1 };
        // While another model pauses, that one is asked next, and it may need less.
        tries.kept.shortage = soonest.is_none().then_some(shortage);
        // What an activation that died has reserved keeps no other agent waiting.
        let step = Write::Step(self.retry_step(key, &tries));
        let presumed = Write::Budget(BudgetChange::lost());
        self.batch.extend([step, self.wake_at(tries.kept.due), presumed]);
        self.batch.expect(lacks);
        Interrupt::Suspended(WaitingOn::Retry)
    }

    /// Returns the row of a call that is tried again.
    pub(super) fn retry_step(&self, key: &StepKey, tries: &FailedTries) -> Step {
        let kept = &tries.kept;
        let held_back = kept.held_back || kept.shortage.is_none() && kept.failed.is_empty();
        let kept = Retry { held_back, ..kept.clone() };
        let step = self.steps.row(key.clone(), StepState::Retry(kept), self.engine.now());
        Step { attempt: tries.made, ..step }
    }

    /// Commits the retry and its wake-up, so that the run sleeps on disk until the next attempt.
    pub(super) async fn try_again(&mut self, key: &StepKey, tries: FailedTries) -> Interrupt {
        let step = self.retry_step(key, &tries);
        match self.commit(vec![Write::Step(step), self.wake_at(tries.kept.due)]).await {
            Ok(()) => Interrupt::Suspended(WaitingOn::Retry),
            Err(interrupt) => interrupt,
        }
    }
}
