//! Texts of the program itself, without the model.

use entourage_types::{ItemBody, Notice, NoticeCode, StepKey, Turn};
use futures::FutureExt;

use crate::run::{Result, Run, Stop};

impl Run<'_> {
    /// Adds the run's last text, without the model. It is committed with the end of the run.
    pub fn say(&mut self, text: impl Into<String>) -> String {
        let text = text.into();
        let turn = Turn { text: text.clone(), ..Turn::default() };
        let item = self.append(ItemBody::Turn(turn), self.engine.now());
        self.batch.push(item);
        text
    }

    /// Records, for logs and programs, why the run does without the model's text: a notice in the next
    /// commit.
    pub fn remark(&mut self, stop: Stop) {
        let Stop { reason, text, cause } = stop;
        tracing::warn!(%reason, cause, "sending the unedited result");
        let notice = Notice { cause: Some(cause), ..Notice::new(NoticeCode::ShownAsItIs, text) };
        let item = self.append(ItemBody::Notice(notice), self.engine.now());
        self.batch.push(item);
    }

    /// Writes to the user in the middle of a run, without the model. `name` is the program's own, and used once in a
    /// run: the user reads the text once, whatever crashes.
    ///
    /// # Errors
    /// If the program has used the name before.
    pub async fn tell(&mut self, name: &str, text: impl Into<String>) -> Result<()> {
        let turn = Turn { text: text.into(), ..Turn::default() };
        self.step(StepKey::Said(name.to_owned()), |_| async move { Ok((turn, 1)) }.boxed()).await.map(drop)
    }

    /// Tells whoever watches what the program does now: a notice, which no model reads. It is committed at the latest
    /// when the run asks a model, waits or ends.
    ///
    /// # Errors
    /// As [`tell`](Self::tell).
    pub async fn progress(&mut self, name: &str, text: impl Into<String>) -> Result<()> {
        let notice = Notice::new(NoticeCode::Progress, text);
        self.step(StepKey::Said(name.to_owned()), |_| async move { Ok((notice, 1)) }.boxed()).await.map(drop)
    }
}
