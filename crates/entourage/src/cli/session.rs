//! A user's session with a tree of agents: shows what happens and asks questions as they open, until the
//! agents rest or the user ends it.

mod stalled;
mod typed;

use std::{
    collections::{HashSet, VecDeque},
    pin::pin,
    time::Duration,
};

use entourage_api::{Author, Event, EventBody, ItemBody, Question};
use entourage_types::{About, AgentId, PostId, QuestionId, Status};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use stalled::SILENCE;
pub(crate) use typed::{ANSWERS, is_command};

use super::{
    backend::{Backend, Result, Signal, Stream},
    input::Lines,
    out,
    outgoing_message::OutgoingMessage,
    pieces::Pieces,
    progress::{Progress, Standstill},
    question,
    text::text,
    view::View,
};

/// How often the terminal is redrawn while nothing happens.
const TICK: Duration = Duration::from_millis(100);

/// Why [`Session::until_rest`] returned.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// The agents rest; in a conversation, reported once per idle period.
    Standstill(Standstill),
    /// The root has ended a run, and its transcript has its messages; outside of a conversation only while others work.
    Answered,
    /// The user interrupted it.
    Interrupted,
    /// The user typed a command; only in a conversation.
    Command(String),
    /// The input has ended; only in a conversation.
    Closed,
}

/// The meaning of a line that answers no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typed {
    /// Nothing.
    Ignored,
    /// A message for the root, which reads it before its next step.
    Said,
}

/// When a tree was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeStart {
    /// Just now, with a message.
    Now,
    /// The agent just now, with a message, in a tree that was there before.
    Joined,
    /// Before this command.
    Before,
}

/// The session of one user with one tree.
pub(crate) struct Session {
    backend: Backend,
    root: AgentId,
    /// The agent that the user talks to: the root, unless another is named.
    agent: AgentId,
    follow: Stream,
    pub(crate) progress: Progress,
    pub(crate) view: View,
    interrupt: CancellationToken,
    /// The question that the user sees.
    asking: Option<Question>,
    asked: HashSet<QuestionId>,
    pieces: Pieces,
    /// The messages that this user sent.
    own: HashSet<PostId>,
    /// Whether the next message that the root reads is the one that it was created with.
    begins: bool,
    /// The number after the root's last item.
    pub(crate) heard: u64,
    /// Whether the root has ended a run that has not been reported yet.
    pub(crate) answered: bool,
    /// For each run that the root has ended during this session, the number after its last item.
    pub(crate) ends: Vec<u64>,
    /// Whether the engine has said all that happened before it was followed: it is there.
    is_caught_up: bool,
    /// Whether a rest that lasts was reported.
    rested: bool,
    /// Whether a pause ends the wait instead of being waited out: a user who continues a tree wants it to
    /// continue.
    tells_of_pause: bool,
    /// The typed line that is being handled: if the engine goes away meanwhile, the next engine gets it
    /// first.
    pub(crate) undone: Option<String>,
    /// The last message, while no engine has acknowledged it.
    saying: Option<OutgoingMessage>,
}

impl Session {
    /// Starts from the current state of the tree of this root, which is not shown again. The user talks to the agent.
    pub(crate) async fn new(
        backend: Backend,
        (root, agent): (AgentId, AgentId),
        begun: TreeStart,
        view: View,
        interrupt: CancellationToken,
    ) -> Result<Self> {
        let mut progress = Progress::new(agent);
        let mut heard = 0;
        match begun {
            // Everything is new.
            TreeStart::Now => progress.begins(),
            TreeStart::Joined | TreeStart::Before => {
                if begun == TreeStart::Joined {
                    progress.begins();
                }
                for event in backend.history(root, None).await? {
                    heard = item_of(&event, agent).map_or(heard, |seq| seq + 1);
                    progress.event(&event);
                }
                stalled::look_for_room(&backend, &mut progress).await?;
            }
        }
        let follow = backend.follow(root, progress.last).await?;
        Ok(Self {
            backend,
            root,
            agent,
            follow,
            progress,
            view,
            interrupt,
            asking: None,
            asked: HashSet::new(),
            pieces: Pieces::default(),
            own: HashSet::new(),
            begins: begun != TreeStart::Before && heard == 0,
            heard,
            answered: false,
            ends: Vec::new(),
            is_caught_up: false,
            rested: false,
            tells_of_pause: begun == TreeStart::Before,
            undone: None,
            saying: None,
        })
    }

    /// Continues with another engine after the previous one is gone: from the last event that was read, with
    /// the line that was being handled, and then with the lines that were kept meanwhile.
    pub(crate) async fn go_on(&mut self, backend: Backend, kept: &mut VecDeque<String>) -> Result<()> {
        self.follow = backend.follow(self.root, self.progress.last).await?;
        self.backend = backend;
        self.is_caught_up = false;
        self.rested = false;
        let asked = self.asking.clone();
        if asked.is_none() {
            OutgoingMessage::leave_old(&mut self.saying, &mut self.undone);
        }
        // Before any new event: the line answers the question that the user saw when typing it, and no other.
        while let Some(line) = self.undone.take().or_else(|| kept.pop_front()) {
            if let Some(question) = &asked {
                self.ask_again(question);
            }
            self.handle_line(line, Typed::Said).await?;
        }
        Ok(())
    }

    /// Checks whether a tree that seems to have ended still has something to do. False if it has nothing to
    /// continue and never had.
    pub(crate) async fn resume(&mut self) -> Result<bool> {
        let Some(Standstill::Ended(status)) = self.progress.rest() else { return Ok(true) };
        if self.backend.has_work(self.root).await? {
            self.progress.stir();
            return Ok(true);
        }
        Ok(status != Status::Idle)
    }

    /// The root of the tree.
    pub(crate) fn root(&self) -> AgentId {
        self.root
    }

    /// Records an earlier message of this user.
    pub(crate) fn knows(&mut self, post: Option<PostId>) {
        self.own.extend(post);
    }

    /// Shows what happens until the agents rest. With `lines`, the user is asked questions; in a
    /// conversation, events are shown while the agents rest too, because others may write to them.
    pub(crate) async fn until_rest(&mut self, mut lines: Option<&mut Lines>, typed: Typed) -> Result<End> {
        let mut ticks = tokio::time::interval(TICK);
        let (mut silence, mut is_told) = (pin!(tokio::time::sleep(SILENCE)), false);
        loop {
            if lines.is_some() {
                self.ask(typed);
            }
            let tells = typed == Typed::Said || self.progress.outlasting().next().is_some();
            if tells && self.shows() && self.answered {
                self.view.clear();
                return Ok(End::Answered);
            }
            let paused = self.tells_of_pause.then(|| self.progress.paused()).flatten();
            let rest = paused.or_else(|| self.progress.rest()).filter(|_| self.asking.is_none());
            self.rested &= rest.is_some() && typed == Typed::Said && lines.is_some();
            let rest = rest.filter(|_| !self.rested);
            if let Some(rest) = rest
                && !(typed == Typed::Ignored && self.has_more_to_read(&rest).await?)
            {
                self.rested = true;
                self.view.clear();
                return Ok(End::Standstill(rest));
            }
            tokio::select! {
                signal = self.follow.next() => self.take(signal?, typed).await?,
                line = next(&mut lines) => match line {
                    Some(line) => {
                        is_told = false;
                        silence.as_mut().reset(Instant::now() + SILENCE);
                        if let Some(end) = self.handle_line(line, typed).await? {
                            return Ok(end);
                        }
                    }
                    None if typed == Typed::Said => {
                        self.view.clear();
                        return Ok(End::Closed);
                    }
                    // The input has ended: no more questions.
                    None => {
                        lines = None;
                        self.asking = None;
                    }
                },
                () = self.interrupt.cancelled() => {
                    self.view.clear();
                    return Ok(End::Interrupted);
                }
                () = silence.as_mut(), if !is_told => {
                    is_told = self.says_that_no_process_works().await;
                    silence.as_mut().reset(Instant::now() + SILENCE);
                }
                _ = ticks.tick() => if self.asking.is_none() && !self.rested {
                    self.view.draw(&self.progress);
                },
            }
        }
    }

    /// Whether events are shown at once: not below a question that is being answered.
    fn shows(&self) -> bool {
        self.asking.is_none() || self.view.is_above()
    }

    /// The next signal; dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Signal> {
        self.follow.next().await
    }

    /// Handles a signal.
    pub(crate) async fn take(&mut self, signal: Signal, typed: Typed) -> Result<()> {
        match signal {
            Signal::Event(event) => {
                let is_intervention = matches!(event.body, EventBody::Intervention { .. });
                let stirs = is_intervention && self.progress.is_stirring();
                self.progress.event(&event);
                self.pieces.event(&event);
                if typed == Typed::Said {
                    self.hear(&event);
                }
                if self.shows() {
                    self.view.event(&event, &self.progress)?;
                }
                self.heard = item_of(&event, self.agent).map_or(self.heard, |seq| seq + 1);
                let is_end = matches!(&event.body, EventBody::Run { status, .. } if status.is_terminal());
                if is_end && event.agent == self.agent {
                    self.answered = true;
                    self.ends.push(self.heard);
                }
                let open = |id: QuestionId| self.progress.open_questions().any(|question| question.id == id);
                if let Some(question) = self.asking.take_if(|question| !open(question.id)) {
                    let late = question.due.is_some_and(|due| due <= event.at);
                    let why = if late { "(no answer in time)" } else { "(the question is no longer open)" };
                    out::note(out::stderr().dim(why));
                }
                // An applied intervention does not show yet whether work follows.
                if stirs && self.goes_on().await? {
                    self.progress.stir();
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
            Signal::CaughtUp => self.is_caught_up = true,
        }
        Ok(())
    }

    /// Shows a message from another sender to the root.
    fn hear(&mut self, event: &Event) {
        let EventBody::Item { item: Some(item), .. } = &event.body else { return };
        let ItemBody::Message { from: Author::User, text, post, .. } = &item.body else { return };
        if item.agent == self.agent {
            let own = std::mem::take(&mut self.begins) || post.is_some_and(|post| self.own.contains(&post));
            if !own {
                self.view.heard(text);
            }
            // The message did arrive, or another sender sent the same text: sent again, it is another
            // message.
            if self.saying.as_ref().is_some_and(|saying| saying.text == *text) {
                self.saying = None;
            }
        }
    }

    /// Whether a tree that has ended got another message meanwhile: another run reads it, possibly before any
    /// event shows that.
    async fn has_more_to_read(&self, rest: &Standstill) -> Result<bool> {
        let all_ended = || self.progress.members().iter().all(|member| member.status.is_terminal());
        Ok(matches!(rest, Standstill::Ended(_)) && all_ended() && self.goes_on().await?)
    }

    /// Whether the tree has something to do, or has events that were not read here.
    async fn goes_on(&self) -> Result<bool> {
        let has_work = self.backend.has_work(self.root).await?;
        Ok(has_work || !self.backend.history(self.root, Some(self.progress.last)).await?.is_empty())
    }

    /// Shows the next open question to the user, unless one is shown already.
    fn ask(&mut self, typed: Typed) {
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
            About::Approval => "a number, /edit {…}, /reject why, or a text for the agent to read instead",
            _ if question.options.is_empty() => "/decline to decline",
            _ => "a number, your own words, or /decline",
        };
        let hint = match typed {
            Typed::Said => format!("{hint}; /say TEXT sends a message"),
            Typed::Ignored => hint.to_owned(),
        };
        // A line editor has a prompt of its own, below.
        match self.view.is_above() {
            true => out::note(text![text, paint.dim(format!("({hint})"))]),
            false => out::aside(text![text, paint.dim(format!("({hint}) >")), " "]),
        }
        self.asked.insert(question.id);
        self.asking = Some(question);
    }

    /// Asks a question again whose answer was refused, without showing it: the user knows what it asks.
    fn ask_again(&mut self, question: &Question) {
        let is_open = self.progress.open_questions().any(|open| open.id == question.id);
        if is_open && self.asked.insert(question.id) {
            self.asking = Some(question.clone());
        }
    }
}

/// The number of the agent's item in an event.
fn item_of(event: &Event, agent: AgentId) -> Option<u64> {
    match event.body {
        EventBody::Item { item_seq, .. } if event.agent == agent => Some(item_seq),
        _ => None,
    }
}

/// The next line; never ready without input.
async fn next(lines: &mut Option<&mut Lines>) -> Option<String> {
    match lines {
        Some(lines) => lines.next().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
