//! The steps of a run: those with a record of their own, and those whose checkpoint is the item they
//! left in the transcript.

use std::collections::HashMap;

use entourage_store::{Error as StoreError, ItemQuery, Page};
use entourage_types::{CallId, Checkpoint, Item, ItemBody, RunId, Step, StepKey, StepState, Time};

use super::Client;
use crate::Result;

/// How much of a transcript is held at once while its steps are found.
const ITEMS: u32 = 500;
const BYTES: usize = 1 << 20;

impl Client {
    /// The steps of a run in the order they were begun, with what each model call used.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`].
    pub async fn steps(&self, id: RunId) -> Result<Vec<Step>> {
        let run = self.run(id).await?;
        let store = self.engine.store();
        let mut merging = StepMerger::new(id, store.steps(&self.scope, id).await?);
        let mut from = 0;
        loop {
            let query = ItemQuery { run: Some(id), bytes: BYTES, ..ItemQuery::of(run.agent, from, ITEMS) };
            let items = store.items(&self.scope, query).await?;
            let Some(last) = items.last() else { return Ok(merging.steps()) };
            from = last.seq + 1;
            items.iter().for_each(|item| merging.read(item));
        }
    }

    /// The steps of calls of a run that have ended, whose outputs join the transcript once the other calls of their turn have
    /// ended, too; none for a run that does not exist.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn calls_ahead(&self, id: RunId) -> Result<Vec<Step>> {
        let steps = self.engine.store().steps(&self.scope, id).await?;
        Ok(steps.into_iter().filter(|step| step.output().is_some()).collect())
    }

    /// The step of this call of a run once the call has ended, until its output joins the transcript; none for a run that does
    /// not exist.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn call_ahead(&self, run: RunId, call: CallId) -> Result<Option<Step>> {
        let step = self.engine.store().step(&self.scope, run, &StepKey::Tool(call)).await?;
        Ok(step.filter(|step| step.output().is_some()))
    }

    /// The step of the model call of a run that is made again later, or was to be when the run was stopped.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn retried_turn(&self, run: RunId) -> Result<Option<Step>> {
        let steps = self.engine.store().steps(&self.scope, run).await?;
        let is_retried =
            |step: &Step| matches!((&step.key, &step.state), (StepKey::Model(_), StepState::Retry(_)));
        Ok(steps.into_iter().rev().find(is_retried))
    }

    /// A page of a run's steps, after the step whose key is `page.after`.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`]; [`StoreError::NoRow`] if no step has the key.
    pub async fn steps_page(&self, id: RunId, page: Page) -> Result<Vec<Step>> {
        let mut steps = self.steps(id).await?;
        if page.newest_first {
            steps.reverse();
        }
        if let Some(after) = &page.after {
            let Some(at) = steps.iter().position(|step| step.key.to_string() == *after) else {
                return Err(StoreError::NoRow { after: after.clone() }.into());
            };
            steps.drain(..=at);
        }
        steps.truncate(page.limit as usize);
        let mut bytes = 0;
        let is_full = steps.iter().position(|step| {
            bytes += step.state.value().map_or(0, |value| value.len());
            bytes >= page.bytes
        });
        steps.truncate(is_full.map_or(steps.len(), |last| last + 1));
        Ok(steps)
    }
}

/// Steps as they are found, item by item.
struct StepMerger {
    run: RunId,
    /// The steps with a record of their own whose item was not read yet.
    recorded: HashMap<StepKey, Step>,
    /// When the model, or code, requested each call.
    asked: HashMap<CallId, Time>,
    steps: Vec<Step>,
}

impl StepMerger {
    fn new(run: RunId, recorded: Vec<Step>) -> Self {
        let recorded = recorded.into_iter().filter(|step| step.key.is_work());
        let recorded = recorded.map(|step| (step.key.clone(), step)).collect();
        Self { run, recorded, asked: HashMap::new(), steps: Vec::new() }
    }

    fn read(&mut self, item: &Item) {
        let (mut used, mut asked) = (None, None);
        if let ItemBody::Turn(turn) = &item.body {
            self.asked.extend(turn.calls.iter().map(|call| (call.id, item.at)));
            (used, asked) = (turn.used.clone(), turn.asked.clone());
        }
        if let ItemBody::SubCalls(made) = &item.body {
            self.asked.extend(made.calls.iter().map(|call| (call.id, item.at)));
        }
        if let Some(key) = &item.step {
            let step = self.done(key, item);
            // Its row, if it has one, was written after the first attempt.
            let first = asked.as_ref().map(|asked| asked.failed.first().map_or(asked.at, |first| first.at));
            let started = first.map_or(step.started, |first| first.min(step.started));
            self.steps.push(Step { used, asked, started, ..step });
        }
    }

    /// The step whose checkpoint is this item.
    fn done(&mut self, key: &StepKey, item: &Item) -> Step {
        let begun = key.call().and_then(|call| self.asked.get(&call).copied()).unwrap_or(item.at);
        let state = StepState::Done(Some(Checkpoint::Item(item.seq)));
        let unrecorded = || Step {
            run: self.run,
            key: key.clone(),
            state: state.clone(),
            intent: None,
            attempt: 1,
            used: None,
            asked: None,
            started: begun,
            updated: item.at,
        };
        let step = self.recorded.remove(key).unwrap_or_else(unrecorded);
        Step { state, ..step }
    }

    fn steps(self) -> Vec<Step> {
        let mut rest: Vec<Step> = self.recorded.into_values().collect();
        rest.sort_by(|one, other| one.key.cmp(&other.key));
        let mut steps = self.steps;
        steps.append(&mut rest);
        steps.sort_by_key(|step| (step.started, step.updated));
        steps
    }
}
