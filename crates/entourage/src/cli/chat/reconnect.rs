//! Keeps a conversation when its engine goes away, such as a server that ends: waits for the next engine, and
//! keeps what the user types meanwhile.

use std::{collections::VecDeque, ops::ControlFlow, time::Duration};

use tokio::time::sleep;

use super::{ChatInput, Conversation, chat_input};
use crate::cli::{
    backend::{self, Backend, Result},
    failure::{Exit, Failure},
    input::{self, Lines},
    out,
    outgoing_message::OutgoingMessage,
    session::Session,
    text::text,
};

/// The pause after the first engine that appeared and failed at once, and the longest after several.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));

impl Conversation<'_> {
    /// Continues with the next engine after the previous one is gone. Returns how the conversation ends, if
    /// the user does not wait for that.
    ///
    /// # Errors
    /// Any other failure; and this one when there is no terminal to wait at.
    pub(super) async fn take_up(&mut self, failure: Failure, lines: &mut Lines) -> Result<Option<Exit>> {
        match failure.who_is_gone().filter(|_| input::is_interactive()) {
            Some(who) => self.tell_of_loss(who),
            None => return Err(failure),
        }
        let mut kept = VecDeque::new();
        let end = self.outlive(lines, &mut kept).await;
        if !matches!(end, Ok(None)) {
            self.tell_unsaid(&kept);
        }
        end
    }

    /// Like `take_up`; keeps what the user types meanwhile in `kept`, except what was sent.
    async fn outlive(&mut self, lines: &mut Lines, kept: &mut VecDeque<String>) -> Result<Option<Exit>> {
        let (interrupt, mut pause) = (self.interrupt.clone(), Duration::ZERO);
        loop {
            let came = match self.wait(pause, lines, kept).await? {
                ControlFlow::Continue(came) => came,
                ControlFlow::Break(exit) => return Ok(Some(exit)),
            };
            self.backend = came.clone();
            let done = tokio::select! {
                done = self.do_again(kept) => done,
                () = interrupt.cancelled() => return Ok(Some(Exit::Interrupted)),
            };
            match done {
                Ok(()) => {
                    self.alone = false;
                    came.tell_of_answer();
                    return Ok(None);
                }
                // It may still be the engine that is going away.
                Err(failure) if failure.who_is_gone().is_some() => {
                    pause = (2 * pause).clamp(PAUSES.0, PAUSES.1);
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Waits for another engine after a pause, and keeps what is typed.
    async fn wait(
        &self,
        pause: Duration,
        lines: &mut Lines,
        kept: &mut VecDeque<String>,
    ) -> Result<ControlFlow<Exit, Backend>> {
        let root = self.session.as_ref().map(Session::root);
        let comes = async {
            sleep(pause).await;
            backend::come(self.globals, self.settings, root).await
        };
        tokio::pin!(comes);
        loop {
            let line = tokio::select! {
                came = &mut comes => return Ok(ControlFlow::Continue(came?)),
                line = lines.next() => line,
                () = self.interrupt.cancelled() => return Ok(ControlFlow::Break(Exit::Interrupted)),
            };
            let Some(line) = line else { return Ok(ControlFlow::Break(Exit::Done)) };
            match ChatInput::of(line.trim()) {
                ChatInput::Quit => return Ok(ControlFlow::Break(Exit::Done)),
                ChatInput::Help => chat_input::help_meanwhile(),
                ChatInput::Say(text) if text.is_empty() => {}
                ChatInput::Say(_) => {
                    out::note(out::stderr().dim("(kept)"));
                    kept.push_back(line);
                }
                ChatInput::Tree | ChatInput::Tell(_) | ChatInput::Unknown(_) => {
                    out::note(text![line.trim(), " is not possible now; /quit ends the conversation"]);
                }
            }
        }
    }

    /// Continues where it broke off, and sends the kept lines. If the future is dropped, unsent lines stay in
    /// `kept`.
    async fn do_again(&mut self, kept: &mut VecDeque<String>) -> Result<()> {
        OutgoingMessage::leave_old(&mut self.saying, &mut self.first);
        while self.session.is_none() {
            let Some(first) = self.first.take().or_else(|| kept.pop_front()) else { return Ok(()) };
            self.create(first).await?;
        }
        match &mut self.session {
            Some(session) => session.go_on(self.backend.clone(), kept).await,
            None => Ok(()),
        }
    }

    /// Says that the engine is gone, and how to go on.
    fn tell_of_loss(&mut self, who: &str) {
        self.alone = true;
        let again = self.globals.again();
        let later = self.session.as_ref().map(|session| {
            session.view.clear();
            format!(", and `entourage chat {}{again}`", session.root())
        });
        let later = later.unwrap_or_default();
        let next = format!(
            "`entourage serve{again}` runs, and gets what you type until then; without a server: /quit{later}"
        );
        out::note(out::stderr().yellow(format!("note: {who}. The conversation continues once {next}")));
    }

    /// Words a failure for a conversation. If the database no longer has all of the conversation, there is no
    /// farewell either, which would say that everything is saved.
    pub(super) fn in_words(&mut self, failure: Failure) -> Failure {
        let Some(session) = self.session.take_if(|_| failure.is_cursor_gone()) else { return failure };
        let (root, again) = (session.root(), self.globals.again());
        Failure::failed(format!(
            "the database lacks a part of this conversation that was shown: was an older copy restored? \
             `entourage chat {root}{again}` continues with what it has"
        ))
    }

    /// Shows the lines that were not sent, as far as that is known.
    fn tell_unsaid(&self, kept: &VecDeque<String>) {
        let undone = self.session.as_ref().map_or(&self.first, |session| &session.undone);
        let undone = undone.iter().map(|text| ("may not have been sent:", text));
        for (what, text) in undone.chain(kept.iter().map(|text| ("not sent:", text))) {
            out::note(text![out::stderr().yellow(what), " ", text]);
        }
    }
}
