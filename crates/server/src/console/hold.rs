//! What holds an agent up, what is yet to reach it, and what a person can do about it: the end of its page and of its chat.

use axum::Json;
use entourage_api::{Agent, Intervention, PageQuery};
use entourage_types::{Action, AgentId, InterventionStatus, QuestionId, ShownStatus, Time, WaitingOn};

use super::{
    budget::{Beside, Lacking},
    concerned::is_at_work,
    reason::Reason,
};
use crate::{
    Problem,
    extract::{Caller, Filter, Id},
    routes::v1::interventions,
};

pub(super) struct Hold {
    /// Why the agent does not go on.
    pub(super) reason: Option<Reason>,
    pub(super) lacking: Option<Lacking>,
    /// The interventions that it has not come to yet.
    pub(super) pending: Vec<Intervention>,
    /// Whether a question on the page says why.
    is_told: bool,
    pub(super) is_chat: bool,
}

impl Hold {
    /// What holds the agent up, on a page where these questions say so themselves.
    pub(super) async fn of(
        caller: &Caller,
        agent: &Agent,
        beside: Beside,
        stands: impl Fn(&QuestionId) -> bool,
    ) -> Result<Self, Problem> {
        let reason = Reason::of(caller, agent).await?;
        let is_told = reason.as_ref().and_then(Reason::question).is_some_and(|question| stands(&question));
        let is_chat = matches!(beside, Beside::Chats);
        let lacking = Lacking::of(caller, reason.as_ref(), agent.id, beside).await?;
        Ok(Self { pending: pending(caller, agent.id).await?, reason, lacking, is_told, is_chat })
    }

    /// Why it does not go on, unless a question on the page says so.
    pub(super) fn untold(&self) -> Option<&Reason> {
        self.reason.as_ref().filter(|_| !self.is_told)
    }

    /// Since when it is in its state, where that is known.
    pub(super) fn since(&self) -> Option<Time> {
        self.reason.as_ref().and_then(Reason::since)
    }

    /// Whether what failed can be tried again.
    fn can_be_retried(&self, agent: &Agent) -> bool {
        let lacks_budget = self.reason.as_ref().is_some_and(Reason::is_budget);
        agent.status == ShownStatus::Failed || (agent.waiting_on == Some(WaitingOn::Retry) && !lacks_budget)
    }

    /// What is done to it by pressing a button once. Each has its place whether it can be done or not, so that no other one
    /// comes under a pointer that is about to press.
    pub(super) fn acts(&self, agent: &Agent) -> [Act; 2] {
        let is_paused = agent.waiting_on == Some(WaitingOn::Resume)
            || self.pending.iter().any(|pending| pending.action == Action::Pause);
        let is_at_work = self.can_be_stopped(agent);
        let moment = format!("{}/{}", agent.id, agent.updated);
        [
            Act::new(Action::Pause, "Pause", &moment, is_at_work && !is_paused),
            Act::new(Action::Resume, "Resume", &moment, is_at_work && is_paused),
        ]
    }

    /// Trying again what failed, the last of the buttons.
    pub(super) fn retry(&self, agent: &Agent) -> Option<Act> {
        let moment = format!("{}/{}/{}", agent.id, agent.epoch, agent.items);
        self.can_be_retried(agent).then(|| Act::new(Action::Retry, "Try again", &moment, true))
    }

    pub(super) fn can_be_stopped(&self, agent: &Agent) -> bool {
        is_at_work(agent.status)
    }
}

/// A button, and the key under which pressing it twice does it once.
pub(super) struct Act {
    pub(super) action: Action,
    pub(super) label: &'static str,
    pub(super) key: String,
    pub(super) is_possible: bool,
}

impl Act {
    fn new(action: Action, label: &'static str, moment: &str, is_possible: bool) -> Self {
        Self { action, label, key: format!("{action}/{moment}"), is_possible }
    }
}

async fn pending(caller: &Caller, id: AgentId) -> Result<Vec<Intervention>, Problem> {
    let Json(done) = interventions::list(caller.clone(), Id(id), Filter(PageQuery::default())).await?;
    Ok(done.data.into_iter().filter(|done| done.status == InterventionStatus::Pending).collect())
}
