//! A conversation whose house goes away, such as a server that ends: it waits for the next one, and keeps what is
//! typed meanwhile.

use std::{ops::ControlFlow, sync::Arc};

use super::{Talk, is_end};
use crate::cli::{
    backend::{self, Backend, Result},
    failure::{Exit, Failure},
    input::{self, Lines},
    out,
    session::Session,
    text::text,
};

impl Talk<'_> {
    /// Goes on with the house that comes, where the one before is gone. Returns how the conversation ends, where
    /// the person does not wait for that.
    ///
    /// # Errors
    /// Any other failure; and this one where nobody is there to wait.
    pub(super) async fn take_up(&mut self, mut failure: Failure, lines: &mut Lines) -> Result<Option<Exit>> {
        let mut kept = Vec::new();
        loop {
            match failure.who_is_gone().filter(|_| input::is_interactive()) {
                Some(who) => self.tell_of_loss(who),
                None => return Err(failure),
            }
            match self.wait(lines, &mut kept).await? {
                ControlFlow::Continue(backend) => self.backend = backend,
                ControlFlow::Break(exit) => {
                    self.tell_unsaid(&kept);
                    return Ok(Some(exit));
                }
            }
            match self.do_again().await {
                Ok(()) => break,
                Err(another) => failure = another,
            }
        }
        self.alone = false;
        lines.put_back(kept);
        Ok(None)
    }

    /// Waits for another house, and keeps what is typed.
    async fn wait(
        &self,
        lines: &mut Lines,
        kept: &mut Vec<String>,
    ) -> Result<ControlFlow<Exit, Arc<dyn Backend>>> {
        let root = self.session.as_ref().map(Session::root);
        let comes = backend::come(self.globals, self.settings, root);
        tokio::pin!(comes);
        loop {
            tokio::select! {
                backend = &mut comes => return Ok(ControlFlow::Continue(backend?.into())),
                line = lines.next() => match line {
                    Some(line) if line.trim().is_empty() => {}
                    Some(line) if !is_end(&line) => {
                        out::note(out::stderr().dim("(kept)"));
                        kept.push(line);
                    }
                    _ => return Ok(ControlFlow::Break(Exit::Done)),
                },
                () = self.interrupt.cancelled() => return Ok(ControlFlow::Break(Exit::Interrupted)),
            }
        }
    }

    /// Goes on where it broke off.
    async fn do_again(&mut self) -> Result<()> {
        if let Some(session) = &mut self.session {
            return session.go_on(Arc::clone(&self.backend)).await;
        }
        match self.first.take() {
            Some(first) => self.create(first).await,
            None => Ok(()),
        }
    }

    /// Says that the house is gone, and how to go on.
    fn tell_of_loss(&mut self, who: &str) {
        self.alone = true;
        let again = self.globals.again();
        let without = self.session.as_ref().map(|session| {
            session.view.clear();
            format!("; without one: /quit, and `entourage chat {}{again}`", session.root())
        });
        let without = without.unwrap_or_default();
        let next = format!("`entourage serve{again}` runs, with what you type until then{without}");
        out::note(out::stderr().yellow(format!("note: {who}. The conversation goes on once {next}")));
    }

    /// Shows what was typed and reached nobody.
    fn tell_unsaid(&self, kept: &[String]) {
        let undone = self.session.as_ref().map_or(&self.first, |session| &session.undone);
        for text in undone.iter().chain(kept) {
            out::note(text![out::stderr().yellow("not said:"), " ", text]);
        }
    }
}
