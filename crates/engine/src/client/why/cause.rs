//! The causes, as types and as sentences.

use entourage_types::{About, AgentId, Question, QuestionId, Shortage, StopReason, TaskId, Time};

/// How much of a question, an error or a title a sentence has, in characters.
const SHORT: usize = 200;

/// Why an agent does not go on, or what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// A person must answer.
    Question {
        /// The question.
        question: QuestionId,
        /// What it is about.
        about: About,
        /// Its text.
        asks: String,
        /// When it expires, if ever.
        due: Option<Time>,
    },
    /// A model call failed and is tried again.
    Retry {
        /// How many attempts there were.
        attempt: u32,
        /// Why the last one failed.
        error: String,
        /// When the next one is made.
        due: Time,
    },
    /// What runs code was not there when the code of a call could go on, and it is run again.
    CodeRetry {
        /// How often in a row it was not.
        failures: u32,
        /// Why, the last time.
        error: String,
        /// When it is run again.
        due: Time,
    },
    /// The gate before a model holds the owner's calls back.
    Gate {
        /// The model.
        model: String,
        /// When the call is made.
        due: Time,
    },
    /// A budget has no room for its next model call.
    Budget {
        /// Which one, what it has left and what the call needs.
        shortage: Shortage,
        /// Whether calls under way may leave enough: nobody needs to grant anything then.
        may_have_room: bool,
        /// When it looks again whether there is room, if nothing is granted before.
        due: Time,
    },
    /// A budget had no room for its next model call and has room again: it goes on by itself.
    Room {
        /// When.
        due: Time,
    },
    /// It sleeps until a time.
    Timer {
        /// The time.
        due: Time,
    },
    /// Another agent works for it: the next link of the chain, if its agent exists.
    Task {
        /// The task.
        task: TaskId,
    },
    /// A person paused it.
    Pause {
        /// The reason given.
        reason: Option<String>,
    },
    /// It could go on, and all places may be taken.
    Place {
        /// How many agents are at work.
        busy: usize,
        /// How many may be at work at once.
        limit: usize,
    },
    /// It is to go on at another node.
    Elsewhere,
    /// It could go on, and no process works here.
    Process,
    /// The process ended each time that it worked on the run, also when it ended the run: until a person stops
    /// the agent, none tries again.
    Crash {
        /// How often in a row.
        ends: u32,
    },
    /// Nothing keeps it: it is at work.
    Work,
    /// It has nothing to do.
    Rest {
        /// Why its last run failed or was stopped, if it was.
        failed: Option<StopReason>,
        /// What went wrong in it.
        error: Option<String>,
        /// Whether its goal is archived: it takes nothing up before that is unarchived.
        archived: bool,
        /// How many agents below it are at work. The next link of the chain, if there is one, is an agent below it
        /// that does not go on.
        below: u64,
        /// Whether there may be more at work: its tree has more agents than are looked at.
        more_below: bool,
    },
    /// It was deleted.
    Deleted,
    /// It is waiting, but no reason is recorded; maintenance will repair this.
    Nothing,
}

/// Why one agent of a chain does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The agent.
    pub agent: AgentId,
    /// Its kind.
    pub kind: String,
    /// What it is for.
    pub title: String,
    /// Since when it stands there.
    pub since: Time,
    /// Why.
    pub cause: Cause,
}

/// Why an agent does not go on: the chain from the agent itself to the last cause, of at least one link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    chain: Vec<Link>,
    last: Cause,
    unread: Vec<&'static str>,
}

impl Why {
    pub(super) fn new(chain: Vec<Link>, unread: Vec<&'static str>) -> Self {
        let last = chain.last().map_or(Cause::Nothing, |last| last.cause.clone());
        Self { chain, last, unread }
    }

    /// What the agent itself has yet to read, in the order in which it came: `message`, `answer`, `result`, or an
    /// intervention by its action.
    #[must_use]
    pub fn unread(&self) -> &[&'static str] {
        &self.unread
    }

    /// The last cause: once it is gone, the agent goes on, or the one below it if it is at rest itself.
    #[must_use]
    pub const fn cause(&self) -> &Cause {
        &self.last
    }

    /// Since when the agent itself stands there.
    #[must_use]
    pub fn since(&self) -> Option<Time> {
        self.chain.first().map(|own| own.since)
    }

    /// The links, beginning with the agent itself.
    #[must_use]
    pub fn chain(&self) -> &[Link] {
        &self.chain
    }

    /// The chain as one sentence without a subject: `waits for researcher "Prices", which asks: Which year?`, or `has
    /// nothing to do itself; below it, task "Prices" asks: Which year?`
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (above, Link { kind, title, .. }) in self.chain.iter().zip(self.chain.iter().skip(1)) {
            let title = short(title);
            text += &match &above.cause {
                rests @ Cause::Rest { .. } => format!("{}; below it, {kind} \"{title}\" ", rests.text()),
                _ => format!("waits for {kind} \"{title}\", which "),
            };
        }
        text + &self.last.text()
    }
}

impl Cause {
    pub(super) fn of_question(question: Question) -> Self {
        let Question { id, about, text, due, .. } = question;
        Self::Question { question: id, about, asks: text, due }
    }

    /// When it ends by itself, if that is known.
    #[must_use]
    pub const fn due(&self) -> Option<Time> {
        match self {
            Self::Question { due, .. } => *due,
            Self::Retry { due, .. }
            | Self::CodeRetry { due, .. }
            | Self::Gate { due, .. }
            | Self::Budget { due, .. }
            | Self::Room { due }
            | Self::Timer { due } => Some(*due),
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Question { about: About::Information, asks, .. } => format!("asks: {}", short(asks)),
            Self::Question { about: About::Approval, asks, .. } => {
                format!("waits for approval: {}", short(asks))
            }
            Self::Question { about: About::Doubt, asks, .. } => {
                format!("waits for a decision about an interrupted call: {}", short(asks))
            }
            Self::Retry { attempt, error, due } => {
                format!("asks its model again at {}{}: {}", second(*due), after(*attempt), short(error))
            }
            Self::CodeRetry { failures, error, due } => {
                format!("runs its code again at {}{}: {}", second(*due), after(*failures), short(error))
            }
            Self::Gate { model, due } => {
                format!("waits until {model} takes calls again, at {}", second(*due))
            }
            Self::Budget { shortage, may_have_room: false, .. } => format!("waits: {shortage}"),
            Self::Budget { shortage, may_have_room: true, .. } => {
                format!("waits for model calls under way to end: {shortage}")
            }
            Self::Room { due } => {
                format!("waits for its budget, which has room again, and goes on at {}", second(*due))
            }
            Self::Timer { due } => format!("sleeps until {}", second(*due)),
            Self::Task { .. } => "waits for the result of a task".to_owned(),
            Self::Pause { reason: None } => "is paused".to_owned(),
            Self::Pause { reason: Some(reason) } => format!("is paused: {}", short(reason)),
            Self::Place { busy, limit } if busy >= limit => {
                format!("waits for a place: all {limit} are taken")
            }
            Self::Place { .. } => "is about to go on".to_owned(),
            Self::Elsewhere => "is to go on in another process".to_owned(),
            Self::Process => "could go on, but no process works here".to_owned(),
            Self::Crash { ends } => {
                format!("ended its process {ends} times in a row and is left alone; stop it to end its run")
            }
            Self::Work => "is at work".to_owned(),
            Self::Rest { failed, error, archived, below, more_below } => {
                let (rests, itself) = match archived {
                    true => ("takes nothing up, because its goal is archived", ""),
                    false => ("has nothing to do", " itself"),
                };
                let rests = match (below, more_below) {
                    (0, _) => rests.to_owned(),
                    (1, false) => format!("{rests}{itself}; 1 agent below it is at work"),
                    (1, true) => format!("{rests}{itself}; at least 1 agent below it is at work"),
                    (_, false) => format!("{rests}{itself}; {below} agents below it are at work"),
                    (_, true) => format!("{rests}{itself}; at least {below} agents below it are at work"),
                };
                match failed {
                    None => rests,
                    Some(StopReason::Cancelled) => {
                        format!("{rests}; its last run was stopped, and can be tried again")
                    }
                    Some(reason) => {
                        let first = error.as_deref().and_then(|error| error.lines().next());
                        let why = first.map_or_else(|| reason.to_string(), short);
                        format!("{rests}; its last run failed, and can be tried again: {why}")
                    }
                }
            }
            Self::Deleted => "was deleted and does nothing any more".to_owned(),
            Self::Nothing => "is waiting, but no reason is recorded; maintenance will repair this".to_owned(),
        }
    }
}

/// A time to the second, as a text shows it.
fn second(time: Time) -> Time {
    Time::from_micros(time.micros() - time.micros().rem_euclid(1_000_000))
}

/// How many attempts failed before the next one.
fn after(attempts: u32) -> String {
    match attempts {
        0 => String::new(),
        1 => ", after a failed attempt".to_owned(),
        attempts => format!(", after {attempts} failed attempts"),
    }
}

/// A text on one line, cut.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHORT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
