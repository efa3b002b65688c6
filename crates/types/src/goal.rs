//! A goal: what a person wants to reach, and the agent that works towards it for months.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Columns, EntityKind, INSTRUCTION_BYTES, NewEvent, Owner, PartError, Record, Time, check_text,
    checked_name, status::words,
};

/// What a person wants to reach (S4). Its agent is at the top of a tree of its own, which holds its tasks, notes and
/// sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// The agent that works towards it, whose id is that of the record, too.
    pub agent: AgentId,
    /// The user that owns it.
    pub owner: Owner,
    /// It in a few words.
    pub title: String,
    /// What is to be reached; may be empty.
    pub description: String,
    /// How the agent is to work; may be empty.
    pub instructions: String,
    /// Its status.
    pub status: GoalStatus,
    /// When it was created.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

words! {
    /// The status of a goal. Whether its agent works or waits is the agent's.
    GoalStatus, "status of a goal" {
        /// It is worked towards.
        Open => "open",
        /// It is put away: its agent takes no messages, and its schedules are left out, until it is taken up again.
        Archived => "archived",
    }
}

impl Goal {
    /// Returns the title of a goal without the blanks around it.
    ///
    /// # Errors
    /// If a part of it cannot be kept.
    pub fn checked(title: &str, description: &str, instructions: &str) -> Result<String, PartError> {
        check_text("description", description, INSTRUCTION_BYTES)?;
        check_text("instructions", instructions, INSTRUCTION_BYTES)?;
        checked_name(title)
    }
}

impl Record for Goal {
    const KIND: EntityKind = EntityKind::GOAL;
    type Status = GoalStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.agent.to_string(),
            owner: self.owner.clone(),
            root: Some(self.agent),
            parent: Some(self.agent.into()),
            status: self.status.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: Some(format!("{}\n{}", self.title, self.description)),
        }
    }

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        NewEvent::of(self, self.agent, self.agent).map(Some)
    }
}
