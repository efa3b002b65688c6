//! Something only a person can answer. It waits on disk for as long as it takes.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, CallId, Entity, EntityKind, Owner, QuestionId, Record, RunId, TaskId, Time, status::words,
};

/// Something only a person can answer, asked by an agent at any depth of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// Who may answer: the owner of the tree.
    pub owner: Owner,
    /// The top of the tree, where its user is asked.
    pub root: AgentId,
    /// Who asks.
    pub agent: AgentId,
    /// The kind of who asks.
    pub kind: String,
    /// The run that waits.
    pub run: RunId,
    /// The call that waits.
    pub call: CallId,
    /// The task the asking agent works on, so that a client can point at it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task: Option<TaskId>,
    /// The question.
    pub text: String,
    /// Suggested answers; any other text is fine too.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub options: Vec<String>,
    /// Where it stands.
    pub status: QuestionStatus,
    /// What was answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<String>,
    /// When it was asked.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

words! {
    /// Where a question stands.
    QuestionStatus, "question status" {
        /// Nobody has answered.
        Open => "open",
        /// Answered.
        Answered => "answered",
        /// The person would rather not say.
        Declined => "declined",
        /// Nobody answered in time, or the asking agent is gone.
        Expired => "expired",
    }
}

/// What came back for a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The person's words.
    Text(String),
    /// The person would rather not say.
    Declined,
    /// Nobody answered in time.
    Expired,
}

impl Record for Question {
    const KIND: EntityKind = EntityKind::Question;

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
