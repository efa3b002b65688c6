//! A person and a tree of agents: what happens is shown, questions are asked as they open, until
//! the agents rest or the person has had enough.

use std::{collections::HashSet, time::Duration};

use entourage_engine::Signal;
use entourage_types::{
    About, AgentId, Author, Event, EventBody, ItemBody, PostId, Question, QuestionId, Status,
};
use tokio_util::sync::CancellationToken;

use super::{
    answer,
    backend::{Backend, Follow, Result},
    input::Lines,
    out,
    pieces::Pieces,
    progress::{Progress, Rest},
    question,
    text::text,
    view::View,
};

/// How often the terminal is drawn again while nothing happens.
const TICK: Duration = Duration::from_millis(100);

/// How a stretch of work ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// The agents rest. Of a rest that lasts a conversation is told once.
    Rest(Rest),
    /// The root has ended a run: what it said stands in its transcript; only in a conversation.
    Answered,
    /// The person has had enough.
    Interrupted,
    /// The person gave a command; only in a conversation.
    Command(String),
    /// The person is gone; only in a conversation.
    Closed,
}

/// What a line means that answers no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typed {
    /// Nothing.
    Ignored,
    /// A message for the root, which reads it before its next step.
    Said,
}

/// When a tree was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begun {
    /// Just now, with a message.
    Now,
    /// Before this command.
    Before,
}

/// One person and one tree.
pub(crate) struct Session<'a> {
    backend: &'a dyn Backend,
    root: AgentId,
    follow: Box<dyn Follow>,
    pub(crate) progress: Progress,
    pub(crate) view: View,
    interrupt: CancellationToken,
    /// The question that the person has before them.
    asking: Option<Question>,
    asked: HashSet<QuestionId>,
    pieces: Pieces,
    /// The messages that this person wrote.
    own: HashSet<PostId>,
    /// Whether the next message that the root reads is the one that it was made with.
    begins: bool,
    /// The number behind the last item of the root.
    pub(crate) heard: u64,
    /// Whether the root has ended a run of which nobody was told yet.
    answered: bool,
    /// Whether the person was told of the rest that lasts.
    rested: bool,
    /// Whether a pause is told of and not waited out: who goes on with a tree wants it to go on.
    tells_of_pause: bool,
}

impl<'a> Session<'a> {
    /// Begins with what a tree has come to, which is not shown again.
    pub(crate) async fn new(
        backend: &'a dyn Backend,
        root: AgentId,
        begun: Begun,
        view: View,
        interrupt: CancellationToken,
    ) -> Result<Self> {
        let mut progress = Progress::new(root);
        let mut heard = 0;
        match begun {
            // All of it is news.
            Begun::Now => progress.begins(),
            Begun::Before => {
                for event in backend.history(root, None).await? {
                    heard = item_of(&event, root).map_or(heard, |seq| seq + 1);
                    progress.event(&event);
                }
            }
        }
        let follow = backend.follow(root, progress.last).await?;
        Ok(Self {
            backend,
            root,
            follow,
            progress,
            view,
            interrupt,
            asking: None,
            asked: HashSet::new(),
            pieces: Pieces::default(),
            own: HashSet::new(),
            begins: begun == Begun::Now,
            heard,
            answered: false,
            rested: false,
            tells_of_pause: begun == Begun::Before,
        })
    }

    /// Looks whether a tree that seems to have ended has something to do after all. False when
    /// it has nothing to go on with and never had.
    pub(crate) async fn resume(&mut self) -> Result<bool> {
        let Some(Rest::Ended(status)) = self.progress.rest() else { return Ok(true) };
        if self.backend.has_work(self.root).await? {
            self.progress.stir();
            return Ok(true);
        }
        Ok(status != Status::Idle)
    }

    /// The top of the tree.
    pub(crate) fn root(&self) -> AgentId {
        self.root
    }

    /// A message of this person's, written before.
    pub(crate) fn knows(&mut self, post: Option<PostId>) {
        self.own.extend(post);
    }

    /// Writes to the root.
    pub(crate) async fn tell(&mut self, text: &str) -> Result<()> {
        let post = self.backend.send(self.root, text).await?;
        self.own.insert(post);
        self.progress.told(post);
        Ok(())
    }

    /// Writes to the root. What is refused is said, and the conversation goes on.
    pub(crate) async fn say(&mut self, text: &str) -> Result<()> {
        match self.tell(text).await {
            Err(failure) if failure.is_usage() => {
                out::note(text![out::stderr().yellow("note:"), " ", failure.text()]);
                self.rested = false;
                Ok(())
            }
            told => told,
        }
    }

    /// Shows what happens until the agents rest. With `lines`, the person is asked; and in a conversation
    /// what happens is shown while the agents rest, too: others may write to them.
    pub(crate) async fn until_rest(&mut self, mut lines: Option<&mut Lines>, typed: Typed) -> Result<End> {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            if lines.is_some() {
                self.ask();
            }
            if typed == Typed::Said && self.shows() && std::mem::take(&mut self.answered) {
                self.view.clear();
                return Ok(End::Answered);
            }
            let paused = self.tells_of_pause.then(|| self.progress.paused()).flatten();
            let rest = paused.or_else(|| self.progress.rest()).filter(|_| self.asking.is_none());
            self.rested &= rest.is_some() && typed == Typed::Said && lines.is_some();
            if let Some(rest) = rest.filter(|_| !self.rested) {
                self.rested = true;
                self.view.clear();
                return Ok(End::Rest(rest));
            }
            tokio::select! {
                signal = self.follow.next() => self.take(signal?, typed).await?,
                line = next(&mut lines) => match line {
                    Some(line) => if let Some(end) = self.line(line.trim(), typed).await? {
                        return Ok(end);
                    },
                    None if typed == Typed::Said => {
                        self.view.clear();
                        return Ok(End::Closed);
                    }
                    // Nobody is there any more.
                    None => {
                        lines = None;
                        self.asking = None;
                    }
                },
                () = self.interrupt.cancelled() => {
                    self.view.clear();
                    return Ok(End::Interrupted);
                }
                _ = ticks.tick() => if self.asking.is_none() && !self.rested {
                    self.view.draw(&self.progress);
                },
            }
        }
    }

    /// Whether what happens is shown at once: not below a question that is being answered.
    fn shows(&self) -> bool {
        self.asking.is_none() || self.view.is_above()
    }

    /// What happens next; dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Signal> {
        self.follow.next().await
    }

    /// Takes in what happened.
    pub(crate) async fn take(&mut self, signal: Signal, typed: Typed) -> Result<()> {
        match signal {
            Signal::Event(event) => {
                let is_heeded = matches!(event.body, EventBody::Intervention { .. });
                let stirs = is_heeded && self.progress.is_stirring();
                self.progress.event(&event);
                // That an intervention was met does not say yet whether there is work behind it.
                if stirs && self.goes_on().await? {
                    self.progress.stir();
                }
                self.pieces.event(&event);
                if typed == Typed::Said {
                    self.hear(&event);
                }
                if self.shows() {
                    self.view.event(&event, &self.progress)?;
                }
                self.heard = item_of(&event, self.root).map_or(self.heard, |seq| seq + 1);
                self.answered |= event.agent == self.root
                    && matches!(&event.body, EventBody::Run { status, .. } if status.is_terminal());
                let open = |id: QuestionId| self.progress.open_questions().any(|question| question.id == id);
                if let Some(question) = self.asking.take_if(|question| !open(question.id)) {
                    let late = question.due.is_some_and(|due| due <= event.at);
                    let why = if late { "(nobody answered in time)" } else { "(it was answered elsewhere)" };
                    out::note(out::stderr().dim(why));
                }
            }
            Signal::Delta(delta) => {
                for delta in self.pieces.take(&delta) {
                    self.progress.delta(&delta);
                    if self.shows() {
                        self.view.delta(&delta)?;
                    }
                }
            }
            Signal::CaughtUp(_) => {}
        }
        Ok(())
    }

    /// Shows what somebody else said to the root.
    fn hear(&mut self, event: &Event) {
        let EventBody::Item { item: Some(item), .. } = &event.body else { return };
        let ItemBody::Message(message) = &item.body else { return };
        if item.agent == self.root && message.from == Author::User {
            let own =
                std::mem::take(&mut self.begins) || message.post.is_some_and(|post| self.own.contains(&post));
            if !own {
                self.view.heard(&message.text);
            }
        }
    }

    /// Whether the tree has something to do, or more happened in it than was told here.
    async fn goes_on(&self) -> Result<bool> {
        let has_work = self.backend.has_work(self.root).await?;
        Ok(has_work || !self.backend.history(self.root, Some(self.progress.last)).await?.is_empty())
    }

    /// Answers an open question with a line that was piped in.
    pub(crate) async fn reply(&mut self, question: Question, line: &str) -> Result<()> {
        self.asking = Some(question);
        self.line(line, Typed::Ignored).await.map(drop)
    }

    /// Puts the next open question before the person, unless there is one already.
    fn ask(&mut self) {
        if self.asking.is_some() {
            return;
        }
        let next =
            self.progress.open_questions().find(|question| !self.asked.contains(&question.id)).cloned();
        let Some(question) = next else { return };
        self.view.clear();
        let paint = out::stderr();
        let text = text!["\n", question::in_full(&question, paint)];
        let hint = match question.about {
            About::Approval => "a number, /edit {…}, /reject why, or what the agent shall read instead",
            _ if question.options.is_empty() => "/decline to decline",
            _ => "a number, your own words, or /decline",
        };
        // A line editor has a prompt of its own, below.
        match self.view.is_above() {
            true => out::note(text![text, paint.dim(format!("({hint})"))]),
            false => out::aside(text![text, paint.dim(format!("({hint}) >")), " "]),
        }
        self.asked.insert(question.id);
        self.asking = Some(question);
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
        let answered = match answer::chosen(question, line) {
            Ok(answer) => self.backend.answer(id, answer).await.map_err(|failure| failure.text().to_owned()),
            Err(why) => Err(why),
        };
        match answered {
            Ok(_) => self.progress.answered(id),
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

/// The number of the root's item that an event tells of.
fn item_of(event: &Event, root: AgentId) -> Option<u64> {
    match event.body {
        EventBody::Item { item_seq, .. } if event.agent == root => Some(item_seq),
        _ => None,
    }
}

/// The commands that answer a question.
pub(crate) const ANSWERS: [&str; 3] = ["/decline", "/reject", "/edit"];

/// Whether a text is a command: a slash and a word, which is not the beginning of a path.
pub(crate) fn is_command(text: &str) -> bool {
    let word = first(text).strip_prefix('/');
    word.is_some_and(|word| !word.is_empty() && word.chars().all(char::is_alphabetic))
}

fn first(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// The next line; never, where nobody types.
async fn next(lines: &mut Option<&mut Lines>) -> Option<String> {
    match lines {
        Some(lines) => lines.next().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
