//! What holds for the agent of a goal: while the goal is put away, it is given nothing to do; it has the goal's title.

use entourage_store::{Error as StoreError, Expect};
use entourage_types::{Agent, AgentId, EntityKind, Goal, GoalStatus, Scope, Section};

use crate::{Engine, Error, Result};

/// Why an agent takes nothing up.
const ARCHIVED: &str = "its goal is archived; unarchive it first";

impl Engine {
    /// Returns what a commit expects that gives an agent something to do: the goal that it works for is open. Nothing for
    /// agents that work for no goal.
    ///
    /// # Errors
    /// [`Error::NotNow`] if the goal is archived.
    pub(crate) async fn open_goal(&self, agent: &Agent) -> Result<Option<Expect>> {
        match self.goal_status(agent).await? {
            Some(GoalStatus::Archived) => Err(archived(agent.id)),
            Some(GoalStatus::Open) => Ok(Some(Expect::status::<Goal>(agent.root, GoalStatus::Open))),
            None => Ok(None),
        }
    }

    /// The status of the goal that an agent works for; none if it works for no goal.
    pub(crate) async fn goal_status(&self, agent: &Agent) -> Result<Option<GoalStatus>> {
        Ok(self.goal_of(agent).await?.map(|goal| goal.status))
    }

    /// Gives the agent of a goal the title of the goal, which a person may have changed. Returns whether it had another
    /// one; then its row is to be written.
    pub(crate) async fn entitle(&self, agent: &mut Agent) -> Result<bool> {
        if agent.id != agent.root {
            return Ok(false);
        }
        let Some(goal) = self.goal_of(agent).await? else { return Ok(false) };
        let before = std::mem::replace(&mut agent.title, goal.title);
        Ok(before != agent.title)
    }

    /// The goal that an agent works for. Only agents that read their goal are looked at: for all others this reads nothing.
    async fn goal_of(&self, agent: &Agent) -> Result<Option<Goal>> {
        let kind = self.kinds().get(&agent.kind);
        if !kind.is_some_and(|kind| kind.context.sections.contains(&Section::Goal)) {
            return Ok(None);
        }
        Ok(self.store().record(&Scope::from(&agent.owner), agent.root).await?)
    }
}

/// The error of who would give an agent of an archived goal something to do.
fn archived(agent: AgentId) -> Error {
    Error::NotNow { agent, why: ARCHIVED }
}

/// What a store's refusal means to who would give this agent something to do: its goal may have been archived meanwhile.
pub(crate) fn refused(agent: AgentId, error: Error) -> Error {
    match error {
        Error::Store(StoreError::NotInStatus { kind: EntityKind::GOAL, .. }) => archived(agent),
        error => error,
    }
}
