//! What a person does to an agent of a live tree, beside talking to it.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Author, Entity, EntityKind, InterventionId, Owner, PostId, Record, Time, status::words,
};

words! {
    /// What is done to an agent.
    Action, "intervention" {
        /// It begins nothing new until it is resumed; the step under way ends.
        Pause => "pause",
        /// It goes on.
        Resume => "resume",
        /// A remark for people; the agent never sees it.
        Comment => "comment",
        /// A message that it reads before its next model call, whatever its kind says.
        Steer => "steer",
        /// A new instruction: what it is doing is dropped.
        Modify => "modify",
        /// Its failed run is begun again, or the attempt it waits for is made now.
        Retry => "retry",
        /// What it is doing ends, with all that it has given to others for it; it can be written to
        /// again.
        Stop => "stop",
        /// Its session is closed: summed up, and a clean one begun, once it rests.
        CloseSession => "close_session",
        /// It ends for good, and everybody below it.
        Delete => "delete",
    }
}

words! {
    /// Where an intervention stands.
    InterventionStatus, "status of an intervention" {
        /// The agent has not come to it yet.
        Pending => "pending",
        /// Done.
        Applied => "applied",
    }
}

/// Who did what to which agent. It stands in the log from the moment it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intervention {
    /// Its id.
    pub id: InterventionId,
    /// Whose agent.
    pub owner: Owner,
    /// The top of the agent's tree.
    pub root: AgentId,
    /// To which agent.
    pub agent: AgentId,
    /// Who.
    pub by: Author,
    /// What.
    pub action: Action,
    /// The words that came with it: a remark, a message, a new instruction, a reason.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
    /// The message whose answer it is about, where it is about no other.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub of: Option<PostId>,
    /// Where it stands.
    pub status: InterventionStatus,
    /// When it was asked for.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

impl Record for Intervention {
    const KIND: EntityKind = EntityKind::Intervention;

    fn entity(&self) -> serde_json::Result<Entity> {
        Ok(Entity {
            kind: Self::KIND,
            id: self.id.to_string(),
            owner: self.owner.clone(),
            root: Some(self.root),
            parent: Some(self.agent),
            status: self.status.as_str().to_owned(),
            created: self.created,
            updated: self.updated,
            text: None,
            body: serde_json::to_string(self)?,
        })
    }
}
