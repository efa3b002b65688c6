//! The steps of a run. Each is done once: what it came to is its checkpoint, an item of the transcript that carries
//! its key, and after a crash the program comes by its finished steps without doing them again.

use std::collections::HashMap;

use entourage_store::Write;
use entourage_types::{
    CallId, Checkpoint, Item, ItemBody, RunId, Step, StepKey, StepState, Time, ToolCall, Turn,
};
use futures::future::BoxFuture;

use super::{Interrupt, Result, Run};

/// What is on record of the steps of a run.
pub(super) struct Steps {
    run: RunId,
    /// Those that began before they were done, and those whose outputs wait for others.
    begun: HashMap<StepKey, Step>,
    /// Where in the session the items stand that are their checkpoints.
    checkpoints: HashMap<StepKey, usize>,
    /// How many items the session had when the activation began.
    before: usize,
    /// How many model calls the program has come by.
    models: u32,
}

impl Steps {
    pub(super) fn new(run: RunId, begun: Vec<Step>, items: &[Item]) -> Self {
        let begun = begun.into_iter().map(|step| (step.key.clone(), step)).collect();
        let mut steps = Self { run, begun, checkpoints: HashMap::new(), before: items.len(), models: 0 };
        for (at, item) in items.iter().enumerate() {
            steps.joined(at, item);
        }
        steps
    }

    /// What is on record of a step beside its checkpoint.
    pub(super) fn get(&self, key: &StepKey) -> Option<&Step> {
        self.begun.get(key)
    }

    /// The same of a tool call.
    pub(super) fn of_call(&self, call: &ToolCall) -> Option<&Step> {
        self.get(&StepKey::Tool(call.id))
    }

    /// Whether a call has its output in the transcript.
    pub(super) fn is_answered(&self, call: CallId) -> bool {
        self.is_done(&StepKey::Tool(call))
    }

    /// Whether a step is done.
    pub(super) fn is_done(&self, key: &StepKey) -> bool {
        self.checkpoints.contains_key(key)
    }

    /// Whether any of them waits.
    pub(super) fn any_open(&self) -> bool {
        self.begun.values().any(|step| step.state.is_open())
    }

    /// Where in the session the checkpoint of a step stands that was finished before the activation began.
    pub(super) fn finished_before(&self, key: &StepKey) -> Option<usize> {
        self.checkpoints.get(key).copied().filter(|&at| at < self.before)
    }

    /// The key of the program's next model call.
    pub(super) fn next_model(&self) -> StepKey {
        StepKey::Model(self.models + 1)
    }

    /// The program begins its next model call, of this key.
    pub(super) fn begin_model(&mut self) -> StepKey {
        self.models += 1;
        StepKey::Model(self.models)
    }

    /// Where in the session the turn of the last model call stands, if that was made before the activation.
    pub(super) fn finished_turn(&self) -> Option<usize> {
        self.finished_before(&StepKey::Model(self.models))
    }

    /// Where in the session the checkpoint of a step stands.
    fn checkpoint(&self, key: &StepKey) -> Option<usize> {
        self.checkpoints.get(key).copied()
    }

    /// An item joins the transcript at this place.
    pub(super) fn joined(&mut self, at: usize, item: &Item) {
        // What was loaded from elsewhere has no step here, and its calls are answered all the same.
        let answered = || match &item.body {
            ItemBody::Output(output) => Some(StepKey::Tool(output.call)),
            _ => None,
        };
        // Ids of calls mean one call in the whole session; other keys are numbered or named within a run.
        let key = item.step.clone().filter(|key| item.run == self.run || key.call().is_some());
        if let Some(key) = key.or_else(answered) {
            self.checkpoints.insert(key, at);
        }
    }

    /// Steps were committed in a new state.
    pub(super) fn committed(&mut self, steps: impl IntoIterator<Item = Step>) {
        self.begun.extend(steps.into_iter().map(|step| (step.key.clone(), step)));
    }

    /// A step in a new state; it keeps what it began with, its beginning and its attempts.
    pub(super) fn row(&self, key: StepKey, state: StepState, at: Time) -> Step {
        let before = self.get(&key);
        Step {
            run: self.run,
            state,
            intent: before.and_then(|step| step.intent.clone()),
            attempt: before.map_or(1, |step| step.attempt),
            used: None,
            started: before.map_or(at, |step| step.started),
            updated: at,
            key,
        }
    }
}

/// What a step comes to: the body of the item that is its checkpoint.
pub(super) trait Checkpointed: Clone + Into<ItemBody> {
    /// The same, read back.
    fn of(body: &ItemBody) -> Option<&Self>;
}

impl Checkpointed for Turn {
    fn of(body: &ItemBody) -> Option<&Self> {
        match body {
            ItemBody::Turn(turn) => Some(turn),
            _ => None,
        }
    }
}

impl Run<'_> {
    /// Does a piece of work once. If its key has a checkpoint, this is what the work came to, and it is not done
    /// again; else it is done, and what it returns becomes the checkpoint. That rides with the next commit, with
    /// whatever the work wrote: all of it is on record, or none. The work returns its attempts beside.
    ///
    /// # Errors
    /// What the work says: a step that failed or waits has no checkpoint. A checkpoint of another sort of work.
    pub(super) async fn step<T: Checkpointed>(
        &mut self,
        key: StepKey,
        work: impl for<'r> FnOnce(&'r mut Self) -> BoxFuture<'r, Result<(T, u32)>> + Send,
    ) -> Result<T> {
        if let Some(before) = self.steps.checkpoint(&key).and_then(|at| self.transcript.items().get(at)) {
            let before = T::of(&before.body).cloned();
            return before
                .ok_or_else(|| Interrupt::failed(format!("step {key} is on record as something else")));
        }
        let (result, attempts) = work(self).await?;
        let checkpoint = self.checkpoint(key, result.clone(), attempts, self.engine.now());
        self.batch.extend(checkpoint);
        Ok(result)
    }

    /// A step is done, and this is what it came to. What was on record of it ends there; one that was done at once
    /// needs no record beside its item.
    pub(super) fn checkpoint<T: Into<ItemBody>>(
        &mut self,
        key: StepKey,
        result: T,
        attempts: u32,
        at: Time,
    ) -> impl Iterator<Item = Write> + use<T> {
        let done = StepState::Done(Some(Checkpoint::Item(self.agent.items)));
        let is_on_record = attempts > 1 || self.steps.get(&key).is_some();
        let row = is_on_record.then(|| {
            let row = self.steps.row(key.clone(), done, at);
            Write::Step(Step { attempt: row.attempt.max(attempts), ..row })
        });
        [self.join(Some(key), result.into(), at)].into_iter().chain(row)
    }
}
