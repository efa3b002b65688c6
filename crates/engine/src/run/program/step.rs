//! A step of a program: done once, then answered from its checkpoint.

use entourage_store::Write;
use entourage_types::{Checkpoint, ItemBody, Step, StepKey, StepState, Time};
use futures::future::BoxFuture;

use crate::run::{
    Interrupt, Result, Run,
    steps::{Checkpointed, PassedStep},
};

impl Run<'_> {
    /// Passes a step of the program, whose key it may use once in a run. If the program takes another way than before,
    /// as a new version of it may, calls that it has left open get outputs.
    pub(in crate::run) async fn pass_step(&mut self, key: &StepKey) -> Result<()> {
        let PassedStep { is_first, is_another_way } = self.steps.pass(key);
        if is_another_way {
            let mut writes = Vec::new();
            self.close_open_calls("the program took another way", &mut writes).await?;
            if !writes.is_empty() {
                self.commit(writes).await?;
            }
        }
        if is_first {
            return Ok(());
        }
        Err(Interrupt::failed(format!(
            "the program took the step {key} twice in one run: give each step a name of its own, such as \
             `question/2`"
        )))
    }

    /// Does a piece of work once. If the key has a checkpoint, returns that result and does not do the work
    /// again. Otherwise does the work, which returns its result and its number of attempts, and makes the
    /// result the checkpoint. The checkpoint goes into the next commit with everything that the work wrote:
    /// all of it is recorded, or none.
    ///
    /// # Errors
    /// The error of the work: a step that failed or waits has no checkpoint. Also if the checkpoint is the
    /// result of another sort of work.
    pub(in crate::run) async fn step<T: Checkpointed>(
        &mut self,
        key: StepKey,
        work: impl for<'r> FnOnce(&'r mut Self) -> BoxFuture<'r, Result<(T, u32)>> + Send,
    ) -> Result<T> {
        self.pass_step(&key).await?;
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

    /// Returns the writes that complete a step with this result: its checkpoint item, and its row in its
    /// final state. A step that was done at the first attempt and has no row needs only the item.
    pub(in crate::run) fn checkpoint<T: Into<ItemBody>>(
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
        [self.append_of_step(Some(key), result.into(), at)].into_iter().chain(row)
    }
}
