//! Goals, each with the agent that works towards it.

use entourage_types::{self as types, AgentId, GoalStatus, Owner, Time};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::schema;

/// What a person wants to reach, and the agent that works towards it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Goal {
    /// The agent that works towards it, whose id is that of the goal, too.
    #[schema(value_type = schema::GoalId)]
    pub agent: AgentId,
    /// Its owner.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// It in a few words.
    pub title: String,
    /// What is to be reached; may be empty.
    pub description: String,
    /// How the agent is to work; may be empty.
    pub instructions: String,
    /// Its status. While it is `archived`, its agent takes no messages and no triggers.
    #[schema(value_type = schema::GoalStatus)]
    pub status: GoalStatus,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<types::Goal> for Goal {
    fn from(goal: types::Goal) -> Self {
        let types::Goal { agent, owner, title, description, instructions, status, created, updated } = goal;
        Self { agent, owner, title, description, instructions, status, created, updated }
    }
}

/// A goal to create.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct CreateGoal {
    /// It in a few words, 1 to 200 characters without the blanks around them.
    #[schema(min_length = 1, pattern = r"\S")]
    pub title: String,
    /// What is to be reached.
    #[serde(default)]
    pub description: String,
    /// How the agent is to work.
    #[serde(default)]
    pub instructions: String,
}

/// A change of a goal. What is left out stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct ChangeGoal {
    /// Its new title, 1 to 200 characters without the blanks around them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, pattern = r"\S")]
    pub title: Option<String>,
    /// Its new description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its new instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// `archived` to put it away, `open` to take it up again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::GoalStatus>)]
    pub status: Option<GoalStatus>,
}

/// Which goals to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListGoals {
    /// Only goals in this status.
    #[param(value_type = Option<schema::GoalStatus>)]
    pub status: Option<GoalStatus>,
    /// Only goals with all of these words in their title or description; the last one may be the beginning of a word.
    pub text: Option<String>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}
