//! What holds for the agents of a goal: while the goal is put away, they are given nothing to do; its own agent has its
//! title; that of a task is for this task alone.

use entourage_store::{Error as StoreError, Expect};
use entourage_types::{Agent, AgentId, EntityKind, Goal, GoalStatus, Scope, Section};

use crate::{Engine, Error, Result};

/// Why an agent takes nothing up.
const ARCHIVED: &str = "its goal is archived; unarchive it first";
/// Why the agent of a task is told nothing more.
const DONE: &str = "the task that it worked on has ended; write to the agent that gave the task";

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

    /// Checks that an agent may be told something: one that was created for a task is for that task alone, and nothing is
    /// said to it once the task has ended (S4-R078).
    ///
    /// # Errors
    /// [`Error::NotNow`] if it has ended.
    pub(crate) async fn may_be_told(&self, agent: &Agent) -> Result<()> {
        let Some(parent) = agent.parent else { return Ok(()) };
        if agent.works_for.is_person() || !agent.status.is_terminal() {
            return Ok(());
        }
        let from = self.store().agent(&Scope::from(&agent.owner), parent).await?;
        let kind = from.and_then(|from| self.kinds().get(&from.kind));
        match kind.as_ref().and_then(|kind| kind.tasks.as_ref()) {
            Some(created) if created.kind == agent.kind => Err(Error::NotNow { agent: agent.id, why: DONE }),
            _ => Ok(()),
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
