//! What a person types: words for the agents, answers, and which lines are commands.

use entourage_types::{Answer, PostId, Question, QuestionId};

use super::{End, Session, Typed};
use crate::cli::{answer, backend::Result, failure::Failure, input, out, text::text};

/// The commands that answer a question.
pub(crate) const ANSWERS: [&str; 3] = ["/decline", "/reject", "/edit"];

/// What was sent, and may have arrived before its acknowledgement was lost.
pub(super) enum Unsure {
    /// A message, and the key under which it is sent again.
    Message { text: String, key: String },
    /// An answer to this question.
    Answer(QuestionId),
}

impl Session {
    /// Writes to the root.
    pub(crate) async fn tell(&mut self, text: &str) -> Result<()> {
        let (text, key) = match self.unsure.take() {
            Some(Unsure::Message { text: sent, key }) if sent == text => (sent, key),
            _ => (text.to_owned(), PostId::new().to_string()),
        };
        match self.backend.send(self.root, &text, Some(&key)).await {
            Ok(post) => {
                self.own.insert(post);
                self.progress.told(post);
                Ok(())
            }
            Err(failure) => {
                self.unsure = failure.who_is_gone().map(|_| Unsure::Message { text, key });
                Err(failure)
            }
        }
    }

    /// Writes to the root. What is refused is said, and the conversation goes on.
    pub(crate) async fn say(&mut self, text: &str) -> Result<()> {
        match self.tell(text).await {
            Err(failure) if failure.is_usage() => {
                out::note(text![out::stderr().yellow("note:"), " ", failure.text()]);
                self.rested = false;
                Ok(())
            }
            // A disk that is full, or a server that has too much to do, may take the next one.
            Err(failure) if failure.who_is_gone().is_none() && input::is_interactive() => {
                let paint = out::stderr();
                out::note(text![paint.red("error:"), " ", failure.text()]);
                out::note(text![paint.yellow("not said:"), " ", text]);
                self.rested = false;
                Ok(())
            }
            told => told,
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
        let Some(question) = &self.asking else {
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
        let id = question.id;
        let is_again = matches!(self.unsure, Some(Unsure::Answer(of)) if of == id);
        let answered = match answer::chosen(question, line) {
            Ok(answer) => match self.backend.answer(id, answer.clone()).await {
                Err(failure) if failure.who_is_gone().is_some() => {
                    self.unsure = Some(Unsure::Answer(id));
                    return Err(failure);
                }
                Err(failure) if failure.is_not_open() => {
                    // The first may have arrived, and nobody heard of it.
                    let stands = if is_again { self.backend.question(id).await?.answer } else { None };
                    tell_of_refusal(&failure, answer, is_again, stands);
                    Ok(())
                }
                answered => answered.map(drop).map_err(|failure| failure.text().to_owned()),
            },
            Err(why) => Err(why),
        };
        self.unsure = None;
        match answered {
            Ok(()) => self.progress.answered(id),
            // It is asked again, unless it turns out that somebody was faster.
            Err(why) => {
                out::note(out::stderr().yellow(format!("note: {why}")));
                self.asked.remove(&id);
            }
        }
        self.asking = None;
        Ok(None)
    }
}

/// Says that a question was answered by somebody else, and which words did not reach it.
fn tell_of_refusal(failure: &Failure, answer: Answer, is_again: bool, stands: Option<String>) {
    let unsaid = match answer {
        Answer::Text(text) if stands.as_ref() == Some(&text) => return,
        Answer::Text(text) => Some(text),
        _ if is_again => return,
        _ => None,
    };
    let paint = out::stderr();
    out::note(paint.yellow(format!("note: {}", failure.text())));
    if let Some(unsaid) = unsaid {
        out::note(text![paint.yellow("not said:"), " ", unsaid]);
    }
}

/// Whether a text is a command: a slash and a word, which is not the beginning of a path.
pub(crate) fn is_command(text: &str) -> bool {
    let word = first(text).strip_prefix('/');
    word.is_some_and(|word| !word.is_empty() && word.chars().all(char::is_alphabetic))
}

fn first(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}
