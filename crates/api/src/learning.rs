//! A learning.

use entourage_types::{self as types, AgentId, LearningId, LearningStatus, Owner, Time};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::schema;

/// Something an agent wants to know in every conversation to come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Learning {
    /// Its id.
    #[schema(value_type = schema::LearningId)]
    pub id: LearningId,
    /// Its owner.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// The tree it belongs to, by its root.
    #[schema(value_type = schema::AgentId)]
    pub root: AgentId,
    /// The agent that learned it; no other agent sees it.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// One sentence or two.
    pub text: String,
    /// Whether it still holds.
    #[schema(value_type = schema::LearningStatus)]
    pub status: LearningStatus,
    /// When it was saved.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<types::Learning> for Learning {
    fn from(learning: types::Learning) -> Self {
        let types::Learning { id, owner, root, agent, text, status, created, updated } = learning;
        Self { id, owner, root, agent, text, status, created, updated }
    }
}

/// Which learnings to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FindLearnings {
    /// Only learnings of the tree with this root.
    #[param(value_type = Option<schema::AgentId>)]
    pub root: Option<AgentId>,
    /// Only learnings in this status.
    #[param(value_type = Option<schema::LearningStatus>)]
    pub status: Option<LearningStatus>,
    /// Only those with all of these words; the last one may be the beginning of a word.
    pub text: Option<String>,
    /// How many entries to return; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[param(min_length = 4, pattern = "^MT[o-r][A-Za-z0-9_-]+$")]
    pub cursor: Option<String>,
}
