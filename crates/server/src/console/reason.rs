//! Why an agent does not go on, as pages say it: with its times as times, since when, and when it reads what was written
//! to it meanwhile.

use axum::Json;
use entourage_api::{Agent, Cause, Why};
use entourage_types::{AgentId, QuestionId, ShownStatus, Time, WaitingOn};

use super::filters;
use crate::{
    Problem,
    extract::{Caller, Id},
    routes::v1::agents,
};

/// Why an agent does not go on.
pub(super) struct Reason {
    why: Why,
    /// The sentence up to the time in it.
    pub(super) before: String,
    /// The time that the sentence names, and the rest of the sentence.
    pub(super) at: Option<(Time, String)>,
}

/// When an agent reads what it has not read yet.
pub(super) struct Reads {
    pub(super) when: &'static str,
    /// The time, where it is known.
    pub(super) at: Option<Time>,
    /// Whether words to modify its work reach it before.
    pub(super) modify_is_sooner: bool,
}

impl From<Why> for Reason {
    fn from(why: Why) -> Self {
        // The sentence has its time to the second. Texts of people and models in it are left alone.
        let found = due(&why.cause).and_then(|due| {
            let second = Time::from_micros(due.micros() - due.micros().rem_euclid(1_000_000)).to_string();
            let (before, after) = why.text.split_once(&second)?;
            Some((before.to_owned(), (due, after.to_owned())))
        });
        let (before, at) = match found {
            Some((before, at)) => (before, Some(at)),
            None => (why.text.clone(), None),
        };
        Self { why, before, at }
    }
}

/// The time that the sentence of a cause names.
fn due(cause: &Cause) -> Option<Time> {
    match cause {
        Cause::Retry { due, .. }
        | Cause::CodeRetry { due, .. }
        | Cause::Gate { due, .. }
        | Cause::Room { due }
        | Cause::Timer { due } => Some(*due),
        _ => None,
    }
}

impl Reason {
    /// Why this agent does not go on, where that is the question.
    pub(super) async fn of(caller: &Caller, agent: &Agent) -> Result<Option<Self>, Problem> {
        Ok(match agent.status {
            ShownStatus::Waiting | ShownStatus::Failed | ShownStatus::Queued => {
                Some(Self::of_any(caller, agent.id).await?)
            }
            _ => None,
        })
    }

    /// Why this agent does not go on, whatever its status.
    pub(super) async fn of_any(caller: &Caller, agent: AgentId) -> Result<Self, Problem> {
        let Json(why) = agents::why(caller.clone(), Id(agent)).await?;
        Ok(why.into())
    }

    /// What the agent itself has yet to read.
    pub(super) fn unread(&self) -> Option<String> {
        Some(self.why.unread.join(", ")).filter(|unread| !unread.is_empty())
    }

    /// The last cause: once it is gone, the agent goes on.
    pub(super) fn last(&self) -> &Cause {
        &self.why.cause
    }

    /// The agent with the last cause.
    pub(super) fn last_agent(&self) -> Option<AgentId> {
        self.why.chain.last().map(|link| link.agent)
    }

    /// The question that it, or the last agent that it waits for, asks.
    pub(super) fn question(&self) -> Option<QuestionId> {
        match self.last() {
            Cause::Question { question, .. } => Some(*question),
            _ => None,
        }
    }

    /// Why the agent itself does not go on.
    fn own(&self) -> Option<&Cause> {
        self.why.chain.first().map(|link| &link.cause)
    }

    /// Whether the agent itself waits for more budget.
    pub(super) fn is_budget(&self) -> bool {
        matches!(self.own(), Some(Cause::Budget { .. } | Cause::Room { .. }))
    }

    /// What a waiting agent waits for, in a word or two.
    pub(super) fn on(&self, on: &WaitingOn) -> &'static str {
        if self.is_budget() { "for more budget" } else { filters::waits_on(*on) }
    }

    /// Since when it stands there, where that is known: what is only written to it changes nothing about that.
    pub(super) fn since(&self) -> Option<Time> {
        let is_of_step = matches!(
            self.own(),
            Some(
                Cause::Question { .. }
                    | Cause::Retry { .. }
                    | Cause::CodeRetry { .. }
                    | Cause::Budget { .. }
                    | Cause::Room { .. }
                    | Cause::Timer { .. }
                    | Cause::Task { .. }
            )
        );
        is_of_step.then_some(self.why.since)
    }
}

/// When an agent reads what was written to it.
pub(super) fn reads(status: ShownStatus, reason: Option<&Reason>) -> Reads {
    let when = |when| Reads { when, at: None, modify_is_sooner: false };
    let later = |when, at| Reads { when, at, modify_is_sooner: true };
    match reason.and_then(Reason::own) {
        Some(Cause::Question { .. }) => later("is read once the question is answered", None),
        Some(Cause::Timer { due }) => later("is read at the end of its wait,", Some(*due)),
        Some(Cause::Task { .. }) => later("is read once the agent that it waits for has ended", None),
        Some(Cause::Retry { due, .. } | Cause::CodeRetry { due, .. }) => {
            later("is not read before it is tried again,", Some(*due))
        }
        Some(Cause::Gate { due, .. }) => {
            Reads { at: Some(*due), ..when("is not read before its model takes calls,") }
        }
        Some(Cause::Budget { .. }) => when("is read once its budget has room"),
        Some(Cause::Room { due }) => Reads { at: Some(*due), ..when("is read when it goes on,") },
        Some(Cause::Pause { .. }) => when("is read once it is resumed"),
        Some(Cause::Process) => when("is read once a process works here"),
        Some(Cause::Place { .. }) => when("is read once it has a place"),
        Some(Cause::Rest { archived: true, .. }) => when("is read once its goal is open again"),
        _ if status == ShownStatus::Running => when("is read before its next model call"),
        _ => when("not read yet"),
    }
}

#[cfg(test)]
mod tests {
    use entourage_api::WhyLink;

    use super::*;

    fn reason(cause: Cause, text: &str) -> Reason {
        let since = Time::from_micros(1);
        let agent = AgentId::new();
        let link = WhyLink { agent, kind: "k".into(), title: "t".into(), since, cause: cause.clone() };
        Why { cause, since, text: text.to_owned(), chain: vec![link], unread: Vec::new() }.into()
    }

    #[test]
    fn the_time_of_a_sentence_is_a_time_and_not_a_part_of_its_words() {
        let due: Time = "2026-03-01T10:00:00.5Z".parse().unwrap();
        let sleeps = reason(Cause::Timer { due }, "sleeps until 2026-03-01T10:00:00Z");
        assert_eq!(
            (sleeps.before.as_str(), sleeps.at.clone()),
            ("sleeps until ", Some((due, String::new())))
        );
        let asks = reason(Cause::Nothing, "asks: Is 2026-03-01T10:00:00Z too late?");
        assert_eq!(asks.at, None);
    }

    #[test]
    fn a_message_is_read_at_the_end_of_a_wait_and_modify_reaches_it_before() {
        let due = Time::from_micros(7);
        let timer = reads(ShownStatus::Waiting, Some(&reason(Cause::Timer { due }, "sleeps")));
        assert_eq!((timer.at, timer.modify_is_sooner), (Some(due), true));
        let paused = reads(ShownStatus::Waiting, Some(&reason(Cause::Pause { reason: None }, "is paused")));
        assert!(paused.when.contains("resumed") && !paused.modify_is_sooner);
        assert!(reads(ShownStatus::Running, None).when.contains("next model call"));
    }
}
