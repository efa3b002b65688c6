//! Handles what a user types: messages to the agents, answers and commands.

use entourage_api::Question;
use entourage_types::{Answer, QuestionId, Time};

use super::{End, Session, Typed};
use crate::cli::{
    answer, backend::Result, failure::Failure, input, out, outgoing_message::OutgoingMessage, text::text,
};

/// The commands that answer a question.
pub(crate) const ANSWERS: [&str; 3] = ["/decline", "/reject", "/edit"];

impl Session {
    /// Sends a message to the root.
    pub(crate) async fn tell(&mut self, text: &str) -> Result<()> {
        let saying = OutgoingMessage::of(text, &mut self.saying);
        let at = Time::now();
        let sent = self.backend.send(self.agent, &saying.text, Some(&saying.key)).await;
        let post = saying.sent(at, sent)?;
        self.saying = None;
        self.own.insert(post);
        self.progress.sent(post);
        Ok(())
    }

    /// Sends a message to the root. A refusal is shown, and the conversation continues.
    pub(crate) async fn say(&mut self, text: &str) -> Result<()> {
        match (self.tell(text).await, &self.saying) {
            // A full disk or a busy server may accept the next message.
            (Err(failure), Some(saying)) if failure.who_is_gone().is_none() => {
                self.rested = false;
                let goes_on = failure.is_usage() || input::is_interactive();
                saying.refused(failure, goes_on)
            }
            (told, _) => told,
        }
    }

    /// Answers an open question with a line that was piped in.
    pub(crate) async fn reply(&mut self, question: Question, line: &str) -> Result<()> {
        self.asking = Some(question);
        self.line(line, Typed::Ignored).await.map(drop)
    }

    /// Handles a line that a user typed; if that fails or is dropped, the line is kept.
    pub(super) async fn handle_line(&mut self, line: String, typed: Typed) -> Result<Option<End>> {
        let line = self.undone.insert(line).clone();
        let done = self.line(line.trim(), typed).await?;
        self.undone = None;
        Ok(done)
    }

    async fn line(&mut self, line: &str, typed: Typed) -> Result<Option<End>> {
        let Some(question) = self.asking.clone() else {
            match typed {
                // The user sees the prompt again.
                Typed::Said if line.is_empty() => self.rested = false,
                Typed::Said if is_command(line) => {
                    self.rested = false;
                    return Ok(Some(End::Command(line.to_owned())));
                }
                Typed::Said => self.say(line).await?,
                Typed::Ignored => self.view.entered(),
            }
            return Ok(None);
        };
        if line.is_empty() {
            if !self.view.is_above() {
                out::aside("> ");
            }
            return Ok(None);
        }
        if typed == Typed::Said && is_command(line) && !ANSWERS.contains(&first(line)) {
            return Ok(Some(End::Command(line.to_owned())));
        }
        let wrong = match answer::chosen(&question, line) {
            Ok(answer) => self.give(question.id, answer, line, typed).await?,
            Err(why) => Some(why),
        };
        match wrong {
            None => self.progress.answered(question.id),
            // The question is asked again, unless another user has answered it.
            Some(why) => {
                out::note(out::stderr().yellow(format!("note: {why}")));
                self.asked.remove(&question.id);
            }
        }
        self.asking = None;
        Ok(None)
    }

    /// Sends an answer. Returns what is wrong with it if the user may give another one.
    async fn give(&self, id: QuestionId, answer: Answer, line: &str, typed: Typed) -> Result<Option<String>> {
        match self.backend.answer(id, answer.clone()).await {
            Ok(answered) => {
                // The user may have meant it as a message.
                if typed == Typed::Said {
                    let whose = format!("(taken as the answer to the question of {})", answered.kind);
                    out::note(out::stderr().dim(whose));
                }
                Ok(None)
            }
            Err(failure) if failure.who_is_gone().is_some() => Err(failure),
            Err(failure) if failure.is_not_open() => match self.backend.question(id).await {
                // It may be this very answer, sent before, whose acknowledgement was lost.
                Ok(closed) if answer::stands(&closed, &answer) => Ok(None),
                Err(failure) if failure.who_is_gone().is_some() => Err(failure),
                _ => {
                    tell_of_refusal(&failure, line);
                    Ok(None)
                }
            },
            Err(failure) => Ok(Some(failure.text().to_owned())),
        }
    }
}

/// Shows how another user answered a question, and the text that was not sent.
fn tell_of_refusal(failure: &Failure, unsaid: &str) {
    let paint = out::stderr();
    out::note(paint.yellow(format!("note: {}", failure.text())));
    out::note(text![paint.yellow("not sent:"), " ", unsaid]);
}

/// Whether a text is a command: a slash and a word, which is not the beginning of a path.
pub(crate) fn is_command(text: &str) -> bool {
    let word = first(text).strip_prefix('/');
    word.is_some_and(|word| !word.is_empty() && word.chars().all(char::is_alphabetic))
}

fn first(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}
