//! What a person types: words for the agents, answers, and which lines are commands.

use entourage_types::{Answer, Question, QuestionId, Time};

use super::{End, Session, Typed};
use crate::cli::{answer, backend::Result, failure::Failure, input, out, saying::Saying, text::text};

/// The commands that answer a question.
pub(crate) const ANSWERS: [&str; 3] = ["/decline", "/reject", "/edit"];

impl Session {
    /// Writes to the root.
    pub(crate) async fn tell(&mut self, text: &str) -> Result<()> {
        let saying = Saying::of(text, &mut self.saying);
        let at = Time::now();
        let sent = self.backend.send(self.root, &saying.text, Some(&saying.key)).await;
        let post = saying.sent(at, sent)?;
        self.saying = None;
        self.own.insert(post);
        self.progress.told(post);
        Ok(())
    }

    /// Writes to the root. What is refused is said, and the conversation goes on.
    pub(crate) async fn say(&mut self, text: &str) -> Result<()> {
        match (self.tell(text).await, &self.saying) {
            // A disk that is full, or a server that has too much to do, may take the next one.
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

    /// Does what a person typed; where that fails or is dropped it is kept.
    pub(super) async fn heed(&mut self, line: String, typed: Typed) -> Result<Option<End>> {
        let line = self.undone.insert(line).clone();
        let done = self.line(line.trim(), typed).await?;
        self.undone = None;
        Ok(done)
    }

    async fn line(&mut self, line: &str, typed: Typed) -> Result<Option<End>> {
        let Some(question) = self.asking.clone() else {
            match typed {
                // Whoever typed it sees the prompt again.
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
            Ok(answer) => self.give(question.id, answer, line).await?,
            Err(why) => Some(why),
        };
        match wrong {
            None => self.progress.answered(question.id),
            // It is asked again, unless it turns out that somebody was faster.
            Some(why) => {
                out::note(out::stderr().yellow(format!("note: {why}")));
                self.asked.remove(&question.id);
            }
        }
        self.asking = None;
        Ok(None)
    }

    /// Gives the answer that was typed so. Returns what is wrong with it, where another one may be given.
    async fn give(&self, id: QuestionId, answer: Answer, line: &str) -> Result<Option<String>> {
        match self.backend.answer(id, answer.clone()).await {
            Ok(_) => Ok(None),
            Err(failure) if failure.who_is_gone().is_some() => Err(failure),
            Err(failure) if failure.is_not_open() => match self.backend.question(id).await {
                // It may be this very one, sent before, and its acknowledgement lost.
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

/// Says how somebody else answered a question, and which words did not reach it.
fn tell_of_refusal(failure: &Failure, unsaid: &str) {
    let paint = out::stderr();
    out::note(paint.yellow(format!("note: {}", failure.text())));
    out::note(text![paint.yellow("not said:"), " ", unsaid]);
}

/// Whether a text is a command: a slash and a word, which is not the beginning of a path.
pub(crate) fn is_command(text: &str) -> bool {
    let word = first(text).strip_prefix('/');
    word.is_some_and(|word| !word.is_empty() && word.chars().all(char::is_alphabetic))
}

fn first(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}
