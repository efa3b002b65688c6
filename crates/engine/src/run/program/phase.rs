//! A part of a program's work that begins anew when a person changes the instruction.

use entourage_store::Write;
use entourage_types::{Checkpoint, StepState, Time};
use futures::future::BoxFuture;

use crate::run::{Interrupt, Result, Run, steps::Phase};

impl Run<'_> {
    /// Does a part of the work that depends on what the person wants. When they change that meanwhile (`modify`), all that is
    /// in progress is dropped, agents that it started and has not joined included, and the work begins anew. What
    /// earlier phases came to stays. Outside of a phase, the program reads a new instruction as it reads any message.
    ///
    /// The names of steps are the phase's own: another phase, and the same one when it begins anew, may use them again.
    /// `name` is used once in a run.
    ///
    /// # Errors
    /// The error of the work; also if it is done inside another phase.
    pub async fn phase<T: Send>(
        &mut self,
        name: &str,
        mut work: impl for<'r> FnMut(&'r mut Self) -> BoxFuture<'r, Result<T>> + Send,
    ) -> Result<T> {
        if self.steps.phase().is_some() {
            return Err(Interrupt::failed(format!("the program took the phase `{name}` inside another one")));
        }
        for round in 1.. {
            let phase = Phase::new(name, round);
            if self.steps.skip(&phase) {
                continue;
            }
            self.steps.enter(Some(phase));
            let done = work(self).await;
            self.steps.enter(None);
            match done {
                Err(Interrupt::Replaced) => {}
                done => return done,
            }
        }
        Err(Interrupt::failed(format!("the phase `{name}` began anew too often")))
    }

    /// Returns the writes with which the next item, an instruction, ends the waits of a phase.
    pub(in crate::run) fn end_waits(&self, phase: &Phase, at: Time) -> Vec<Write> {
        let ended = StepState::Done(Some(Checkpoint::Item(self.agent.items)));
        let open = self.steps.open_in(phase);
        open.map(|key| Write::Step(self.steps.row(key, ended.clone(), at))).collect()
    }
}
