//! A chat about the documents of a project, and what each message in it came to.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentId, Columns, DocumentId, EntityKind, KeptStatus, Owner, Project, ProjectId, Record, RunId, Time,
    status::words,
};

/// A chat about the documents of a project (S5-R008): an agent at the top of a tree, and the project that it works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectChat {
    /// The agent, whose id is that of the record, too.
    pub agent: AgentId,
    /// The user that owns it.
    pub owner: Owner,
    /// The project.
    pub project: ProjectId,
    /// Its number among the chats of its owner, for surfaces that want integers: given once and never again.
    pub number: u64,
    /// The change that the user was asked to confirm last, if that was the last thing that happened.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proposal: Option<ProposedChange>,
    /// When it was created.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

/// A change of a document that the user was asked to confirm, and that is not done yet (K34).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedChange {
    /// What the user was asked.
    pub prompt: String,
    /// The document that would change; none for a new document.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<ProposedTarget>,
    /// What would be changed, as it was decided; empty if that was not said.
    #[serde(default)]
    pub change: String,
}

/// A document that would change, as it was when the user was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedTarget {
    /// Which document.
    pub document: DocumentId,
    /// Its version.
    pub version: u64,
}

impl ProjectChat {
    /// The counter that gives chats their numbers.
    pub const COUNTER: &'static str = "project chats";
}

impl Record for ProjectChat {
    const KIND: EntityKind = EntityKind::PROJECT_CHAT;
    type Status = KeptStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.agent.to_string(),
            owner: self.owner.clone(),
            root: Some(self.agent),
            parent: Some(Project::as_parent(self.project)),
            status: KeptStatus::Kept.as_str(),
            created: self.created,
            updated: self.updated,
            name: None,
            text: None,
        }
    }
}

/// What a message in such a chat came to (S5-R100 to S5-R111), written in the commit of the change and the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Act {
    /// The run that answered the message, whose id is that of the record, too.
    pub run: RunId,
    /// The user that owns it.
    pub owner: Owner,
    /// The agent of the chat.
    pub agent: AgentId,
    /// The project.
    pub project: ProjectId,
    /// The numbers of what it is about.
    #[serde(default)]
    pub numbers: ActNumbers,
    /// What the model decided, whole; `{"error": …}` if it decided nothing that could be used.
    pub decision: Value,
    /// Whether the web was searched, and gave results.
    pub web_search_performed: bool,
    /// The document that was created or changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub document: Option<DocumentId>,
    /// What it came to.
    pub outcome: ActOutcome,
    /// When.
    pub at: Time,
}

/// The numbers of what an act is about, for surfaces that want integers. They begin at 1: in an act from before they were
/// kept they are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActNumbers {
    /// That of the chat.
    pub chat: u64,
    /// That of the project.
    pub project: u64,
    /// That of the document that was created or changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub document: Option<u64>,
    /// That of the version that it has since.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<u64>,
}

words! {
    /// What a message came to, in a word.
    ActOutcome, "outcome of an act" {
        /// The user was asked what they mean.
        Clarification => "clarification",
        /// The user was asked whether to go on.
        Confirmation => "confirmation",
        /// A document was created.
        Created => "created",
        /// No document was created, although one was to be.
        NotCreated => "not_created",
        /// A document was changed.
        Updated => "updated",
        /// No document was changed, although one was to be.
        NotUpdated => "not_updated",
        /// The user was answered.
        Conversation => "conversation",
        /// No model gave an answer that could be used.
        ModelFailed => "model_failed",
    }
}

impl Act {
    /// Whether a document was created or changed (S5-R105).
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.outcome, ActOutcome::Created | ActOutcome::Updated)
    }
}

impl Record for Act {
    const KIND: EntityKind = EntityKind::ACT;
    type Status = KeptStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.run.to_string(),
            owner: self.owner.clone(),
            root: Some(self.agent),
            parent: Some(self.agent.into()),
            status: KeptStatus::Kept.as_str(),
            created: self.at,
            updated: self.at,
            name: None,
            text: None,
        }
    }
}
