//! What a person (or an agent that cancels its own delegated work) does to an agent, beside writing
//! to it.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Author, Columns, EntityKind, EventBody, InterventionId, NewEvent, Owner, PostId, Record, Time,
    status::words,
};

words! {
    /// What the person does to the agent.
    Action, "intervention" {
        /// The agent begins nothing new until it is resumed; the step under way completes.
        Pause => "pause",
        /// The agent continues.
        Resume => "resume",
        /// A comment for people; the agent never reads it.
        Comment => "comment",
        /// A message that the agent reads before its next model call, whatever input policy its
        /// kind has.
        Steer => "steer",
        /// A new instruction: the agent drops its current work.
        Modify => "modify",
        /// Restarts the agent's failed run, or makes the attempt it waits for now.
        Retry => "retry",
        /// Ends the agent's current work and everything it has delegated for that; the agent
        /// accepts new messages.
        Stop => "stop",
        /// Closes the agent's session once it is idle: summarises it and begins an empty one.
        CloseSession => "close_session",
        /// Ends the agent for good, with all agents below it.
        Delete => "delete",
    }
}

words! {
    /// The status of an intervention.
    InterventionStatus, "status of an intervention" {
        /// The agent has not applied it yet.
        Pending => "pending",
        /// The agent has applied it.
        Applied => "applied",
    }
}

/// An intervention: who did what to which agent. It is recorded from the moment it is requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intervention {
    /// Its id.
    pub id: InterventionId,
    /// The owner of the agent.
    pub owner: Owner,
    /// The top of the agent's tree.
    pub root: AgentId,
    /// The agent.
    pub agent: AgentId,
    /// Who intervened.
    pub by: Author,
    /// What they did.
    pub action: Action,
    /// The text that came with it: a comment, a message, a new instruction, a reason.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// The message whose answer it concerns, if it concerns one message only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub of: Option<PostId>,
    /// Its status.
    pub status: InterventionStatus,
    /// When it was requested.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

impl Record for Intervention {
    const KIND: EntityKind = EntityKind::INTERVENTION;
    type Status = InterventionStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent.into()),
            status: self.status.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }

    fn event(&self) -> serde_json::Result<Option<NewEvent>> {
        Ok(Some(NewEvent {
            root: self.root,
            agent: self.agent,
            body: EventBody::Intervention { intervention: Box::new(self.clone()) },
        }))
    }
}
