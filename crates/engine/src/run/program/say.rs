//! Texts of the program itself, without the model.

use entourage_types::{ItemBody, Notice, NoticeCode, StepKey, Turn};
use futures::FutureExt;

use crate::run::{Result, Run, Stop};

impl Run<'_> {
    /// Adds the run's last text, without the model: once, also if the program runs again from its top after that. It is
    /// committed with the end of the run. No output guardrail has accepted it: a program whose kind has some asks
    /// [`passes_output`](Self::passes_output) first.
    pub fn say(&mut self, text: impl Into<String>) -> String {
        let text = text.into();
        self.add_once(StepKey::LastText, Turn { text: text.clone(), ..Turn::default() });
        text
    }

    /// Records, for logs and programs, why the run does without the model's text: a notice in the next
    /// commit.
    pub fn remark(&mut self, stop: Stop) {
        let Stop { reason, text, cause, .. } = stop;
        tracing::warn!(%reason, cause, "sending the unedited result");
        self.add_once(
            StepKey::Remark,
            Notice { cause: Some(cause), ..Notice::new(NoticeCode::UneditedResult, text) },
        );
    }

    fn add_once(&mut self, key: StepKey, body: impl Into<ItemBody>) {
        let is_first = self.steps.pass(&key).is_first;
        if is_first && self.steps.is_done(&key) {
            return;
        }
        let item = self.append_of_step(is_first.then_some(key), body.into(), self.engine.now());
        self.batch.push(item);
    }

    /// Writes to the user in the middle of a run, without the model. `name` is the program's own, and used once in a
    /// run: the user reads the text once, whatever crashes.
    ///
    /// # Errors
    /// If the program has used the name before.
    pub async fn tell(&mut self, name: &str, text: impl Into<String>) -> Result<()> {
        let turn = Turn { text: text.into(), ..Turn::default() };
        self.step(StepKey::Said(self.steps.named(name)), |_| async move { Ok((turn, 1)) }.boxed())
            .await
            .map(drop)
    }

    /// Reports to subscribers what the program does now: a notice, which no model reads. It is committed at the latest
    /// when the run asks a model, waits or ends.
    ///
    /// # Errors
    /// As [`tell`](Self::tell).
    pub async fn progress(&mut self, name: &str, text: impl Into<String>) -> Result<()> {
        let notice = Notice::new(NoticeCode::Progress, text);
        self.step(StepKey::Said(self.steps.named(name)), |_| async move { Ok((notice, 1)) }.boxed())
            .await
            .map(drop)
    }
}
