//! Where a client is in the stream of an exploration.

use std::{fmt, str::FromStr};

use entourage_types::AgentId;

use super::in_progress::Had;
use crate::Error;

/// The most answers in progress that a position remembers. Of any further one, a client that resumes gets the whole
/// text again, after another `step-start`.
const MOST_ANSWERS: usize = 64;

/// Where a client is in the stream of an exploration: what it has had. It is an event of the tree, and how much of each
/// answer in progress. As text it begins with the id of the agent that is followed, is ASCII and has no spaces, so that
/// it fits an SSE id: `agt_…-42`, or `agt_…-42.2~agt_….7.120.0123456789abcdef`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    pub(super) agent: AgentId,
    /// The number of the last event of which anything was sent.
    pub(super) event: u64,
    pub(super) sent: SentOf,
    pub(super) answers: Vec<AnswerSoFar>,
}

/// How much of an event was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentOf {
    /// All of it.
    Whole,
    /// So many of its chunks; not all.
    Chunks(usize),
    /// All of it, and so many chunks of the end of the stream, which follows it.
    End(usize),
}

/// How much was sent of an answer in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerSoFar {
    pub(super) agent: AgentId,
    pub(super) item: u64,
    pub(super) had: Had,
}

impl Position {
    pub(super) fn new(agent: AgentId, event: u64, sent: SentOf, mut answers: Vec<AnswerSoFar>) -> Self {
        answers.sort_by_key(|answer| answer.agent);
        answers.truncate(MOST_ANSWERS);
        Self { agent, event, sent, answers }
    }

    /// The agent that is followed.
    #[must_use]
    pub const fn agent(&self) -> AgentId {
        self.agent
    }

    /// The number of the last event of the tree of which anything was sent.
    #[must_use]
    pub const fn event(&self) -> u64 {
        self.event
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.agent, self.event)?;
        match self.sent {
            SentOf::Whole => {}
            SentOf::Chunks(count) => write!(f, ".{count}")?,
            SentOf::End(count) => write!(f, ".e{count}")?,
        }
        for AnswerSoFar { agent, item, had: Had { chars, digest } } in &self.answers {
            write!(f, "~{agent}.{item}.{chars}.{digest:016x}")?;
        }
        Ok(())
    }
}

impl FromStr for Position {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parsed(text).ok_or_else(|| {
            let given: String = text.chars().take(64).collect();
            Error::Invalid(format!(
                "`{given}` is no position in the stream of an exploration: give the id of the last event that you \
                 received, unchanged, or none to begin at the beginning"
            ))
        })
    }
}

fn parsed(text: &str) -> Option<Position> {
    let mut parts = text.split('~');
    let (agent, at) = parts.next()?.split_once('-')?;
    let (event, sent) = match at.split_once('.') {
        None => (at, SentOf::Whole),
        Some((event, sent)) => (event, sent_of(sent)?),
    };
    let answers = parts.take(MOST_ANSWERS + 1).map(answer_so_far).collect::<Option<Vec<_>>>()?;
    Some(Position { agent: agent.parse().ok()?, event: event.parse().ok()?, sent, answers })
        .filter(|position| position.answers.len() <= MOST_ANSWERS)
}

fn sent_of(text: &str) -> Option<SentOf> {
    match text.strip_prefix('e') {
        Some(count) => count.parse().ok().map(SentOf::End),
        None => text.parse().ok().map(SentOf::Chunks),
    }
}

fn answer_so_far(text: &str) -> Option<AnswerSoFar> {
    let mut parts = text.split('.');
    let (agent, item) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let (chars, digest) = (parts.next()?.parse().ok()?, u64::from_str_radix(parts.next()?, 16).ok()?);
    parts.next().is_none().then_some(AnswerSoFar { agent, item, had: Had { chars, digest } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_back_from_its_text_which_begins_with_the_agent() {
        let (agent, child) = (AgentId::new(), AgentId::new());
        let answer = |agent| AnswerSoFar { agent, item: 7, had: Had { chars: 120, digest: 0x00ab_cdef } };
        for sent in [SentOf::Whole, SentOf::Chunks(2), SentOf::End(1)] {
            for answers in [vec![], vec![answer(child)], vec![answer(agent), answer(child)]] {
                let position = Position::new(agent, 42, sent, answers);
                let text = position.to_string();
                assert!(
                    text.starts_with(&agent.to_string()) && text.is_ascii() && !text.contains(' '),
                    "{text}"
                );
                assert_eq!(text.parse::<Position>().unwrap(), position, "{text}");
            }
        }
    }

    #[test]
    fn a_text_that_is_no_position_is_refused_with_what_to_do() {
        let agent = AgentId::new();
        for wrong in
            ["", "7", "agt_1-2", &format!("{agent}"), &format!("{agent}-x"), &format!("{agent}-1.f2")]
        {
            let error = wrong.parse::<Position>().unwrap_err().to_string();
            assert!(error.contains("unchanged, or none"), "{error}");
        }
        let many = format!("~{agent}.1.1.0").repeat(MOST_ANSWERS + 1);
        for wrong in ["~".to_owned(), format!("~{agent}.1.1"), format!("~{agent}.1.1.0.0"), many] {
            assert!(format!("{agent}-1{wrong}").parse::<Position>().is_err(), "{wrong}");
        }
    }
}
