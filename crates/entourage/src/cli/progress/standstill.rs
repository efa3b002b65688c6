//! Decides when a tree rests, so that nothing continues in it without a user.

use entourage_api::{Intervention, Question};
use entourage_types::{Action, AgentId, Status, WaitingOn};

use super::{Member, Progress};

/// The state of a tree in which nothing continues by itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Standstill {
    /// The root has ended its run, and no other agent is at work.
    Ended(Status),
    /// Agents wait for answers of a user.
    Asks(Vec<Question>),
    /// A user paused these agents, and no other is at work.
    Paused(Vec<AgentId>),
}

impl Progress {
    /// Whether an agent is the one that the user talks to, or below it. In a tree whose root that is, all are.
    pub(crate) fn is_in_branch(&self, agent: AgentId) -> bool {
        if self.member(self.root).is_none_or(|top| top.parent.is_none()) {
            return true;
        }
        let parent = |id: &AgentId| self.member(*id).and_then(|member| member.parent);
        std::iter::successors(Some(agent), parent).any(|id| id == self.root)
    }

    /// The agents of the branch.
    fn branch(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| self.is_in_branch(member.id))
    }

    /// The agents that a user paused, if no other agent works; none otherwise.
    pub(crate) fn paused(&self) -> Option<Standstill> {
        let is_paused = |member: &&Member| member.is_held() && member.status == Status::Waiting;
        let others_are_busy =
            self.branch().filter(|member| !is_paused(member)).any(|member| self.is_busy(member));
        let paused: Vec<AgentId> = self.branch().filter(is_paused).map(|member| member.id).collect();
        let at_rest = !self.stirring && self.pending.is_empty() && !others_are_busy;
        (at_rest && !paused.is_empty()).then_some(Standstill::Paused(paused))
    }

    /// How the tree rests, if nothing continues without a user; none while an agent works.
    pub(crate) fn rest(&self) -> Option<Standstill> {
        let results_unread = self.tasks.values().any(|task| {
            // A dropped task has no result.
            task.result.is_some()
                && task.status.is_terminal()
                && self.is_in_branch(task.from)
                && self.member(task.from).is_some_and(|from| from.status != Status::Cancelled)
        });
        // A message may stay unread until the open questions are answered.
        if self.begins
            || !self.unread.is_empty() && self.open_questions().next().is_none()
            || self.stirring
            || results_unread
            || self.branch().any(|member| self.is_busy(member))
        {
            return None;
        }
        if self.open_questions().next().is_some() {
            // The open questions end once the agents have applied a pending intervention; so do those of
            // agents below an agent that was stopped.
            let is_over = self.status().is_terminal();
            let ends =
                |wanted: &Intervention| ends_questions(wanted) || is_over && wanted.action == Action::Stop;
            if self.pending.values().any(|wanted| ends(wanted)) {
                return None;
            }
            return Some(Standstill::Asks(self.open_questions().cloned().collect()));
        }
        let status = self.status();
        (status.is_terminal() || status == Status::Idle).then_some(Standstill::Ended(status))
    }

    /// The agents that still work after the root has ended its run.
    pub(crate) fn outlasting(&self) -> impl Iterator<Item = &Member> {
        let is_over = self.status().is_terminal();
        self.branch().filter(move |member| is_over && self.is_busy(member))
    }

    /// Whether an agent continues by itself. A new agent has its first message in its inbox, except for a
    /// root, which may have been created without one; an agent whose questions are all answered has the
    /// answers there.
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

/// Whether an agent's earlier questions end once it has applied this intervention.
pub(super) fn ends_questions(intervention: &Intervention) -> bool {
    matches!(intervention.action, Action::Stop | Action::Modify) && intervention.of.is_none()
}
