//! The document of a goal.

use entourage_api::schema;
use entourage_types::{AgentId, Goal, GoalStatus, Time};
use serde::Serialize;
use utoipa::ToSchema;

/// A goal.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = GoalDocument)]
pub(crate) struct GoalView {
    /// Its id, which is also that of its agent.
    #[schema(value_type = schema::AgentId)]
    id: AgentId,
    /// It in a few words.
    title: String,
    /// What is to be reached.
    description: String,
    /// How its agent is to work.
    instructions: String,
    /// What its agent does.
    status: GoalState,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    created_at: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated_at: Time,
}

/// What the agent of a goal does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GoalState {
    /// It works, or has something to read.
    Working,
    /// It waits for a message.
    Waiting,
    /// It takes no messages: the goal was put away.
    Archived,
}

impl GoalView {
    /// The document of a goal whose agent is, or is not, at work.
    pub(crate) fn of(goal: Goal, is_at_work: bool) -> Self {
        let Goal { agent, owner: _, title, description, instructions, status, created, updated } = goal;
        let status = match status {
            GoalStatus::Archived => GoalState::Archived,
            GoalStatus::Open if is_at_work => GoalState::Working,
            GoalStatus::Open => GoalState::Waiting,
        };
        Self { id: agent, title, description, instructions, status, created_at: created, updated_at: updated }
    }
}
