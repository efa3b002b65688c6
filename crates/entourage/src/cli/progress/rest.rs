//! When nothing goes on in a tree without a person.

use entourage_types::{Action, AgentId, Intervention, Question, Status, WaitingOn};

use super::{Member, Progress};

/// A tree in which nothing goes on by itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rest {
    /// The root has ended its run, and nobody else is at work.
    Ended(Status),
    /// Somebody waits for a person.
    Asks(Vec<Question>),
    /// A person paused these, and nobody else is at work.
    Paused(Vec<AgentId>),
}

impl Progress {
    /// Agents that a person paused, and that nothing goes on beside; none while something does.
    pub(crate) fn paused(&self) -> Option<Rest> {
        let is_paused = |member: &&Member| member.is_held() && member.status == Status::Waiting;
        let others_are_busy =
            self.members.iter().filter(|member| !is_paused(member)).any(|member| self.is_busy(member));
        let paused: Vec<AgentId> = self.members.iter().filter(is_paused).map(|member| member.id).collect();
        let at_rest = !self.stirring && self.pending.is_empty() && !others_are_busy;
        (at_rest && !paused.is_empty()).then_some(Rest::Paused(paused))
    }

    /// Whether nothing goes on any more without a person; none while something does.
    pub(crate) fn rest(&self) -> Option<Rest> {
        let results_unread = self.tasks.values().any(|task| {
            // What was dropped has no result.
            task.result.is_some()
                && task.status.is_terminal()
                && self.member(task.from).is_some_and(|from| from.status != Status::Cancelled)
        });
        if self.begins
            || !self.unread.is_empty()
            || self.stirring
            || results_unread
            || self.members.iter().any(|member| self.is_busy(member))
        {
            return None;
        }
        if !self.questions.is_empty() {
            // What is asked now is not asked any more once they have come to it; so it is with those below an
            // agent that was stopped.
            let is_over = self.status().is_terminal();
            let ends =
                |wanted: &Intervention| ends_questions(wanted) || is_over && wanted.action == Action::Stop;
            if self.pending.values().any(|wanted| ends(wanted)) {
                return None;
            }
            return Some(Rest::Asks(self.questions.values().cloned().collect()));
        }
        let status = self.status();
        (status.is_terminal() || status == Status::Idle).then_some(Rest::Ended(status))
    }

    /// Who goes on although the root has ended its run.
    pub(crate) fn outlasting(&self) -> impl Iterator<Item = &Member> {
        let is_over = self.status().is_terminal();
        self.members.iter().filter(move |member| is_over && self.is_busy(member))
    }

    /// Whether an agent goes on by itself. One that was just made has its first message in its inbox,
    /// except for a root, which may have been made without any; one whose questions are all answered has
    /// the answers there.
    fn is_busy(&self, member: &Member) -> bool {
        match (member.status, member.waiting_on) {
            (Status::Queued | Status::Running, _) => true,
            (Status::Waiting, Some(WaitingOn::User)) => {
                !self.open_questions().any(|question| question.agent == member.id)
            }
            (Status::Waiting, on) => on != Some(WaitingOn::Agent),
            (Status::Idle, _) => member.id != self.root,
            (Status::Succeeded | Status::Failed | Status::Cancelled, _) => false,
        }
    }
}

/// Whether an agent that has come to it asks nothing any more of what it asked before.
pub(super) fn ends_questions(intervention: &Intervention) -> bool {
    matches!(intervention.action, Action::Stop | Action::Modify) && intervention.of.is_none()
}
