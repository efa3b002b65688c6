//! Projects, and the chats about them.

use entourage_types::{self as types, AgentId, Owner, ProjectId, Time};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// Documents that belong together, and the chats about them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Project {
    /// Its id.
    #[schema(value_type = schema::ProjectId)]
    pub id: ProjectId,
    /// Its owner.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// Its number among the projects of its owner, which is never given again.
    pub number: u64,
    /// Its name; no two projects of an owner have the same.
    pub name: String,
    /// What it is about; may be empty.
    pub description: String,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When its name or description last changed.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<types::Project> for Project {
    fn from(project: types::Project) -> Self {
        let types::Project { id, owner, number, name, description, created, updated } = project;
        Self { id, owner, number, name, description, created, updated }
    }
}

/// A project to create.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct CreateProject {
    /// Its name, 1 to 200 characters without the blanks around it; no two projects of an owner have the same.
    #[schema(min_length = 1, pattern = r"\S")]
    pub name: String,
    /// What it is about.
    #[serde(default)]
    pub description: String,
}

/// A change of a project. What is left out stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct ChangeProject {
    /// Its new name, 1 to 200 characters without the blanks around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, pattern = r"\S")]
    pub name: Option<String>,
    /// Its new description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A chat about the documents of a project: an agent whose transcript it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProjectChat {
    /// The agent.
    #[schema(value_type = schema::AgentId)]
    pub agent: AgentId,
    /// Its owner.
    #[schema(value_type = String)]
    pub owner: Owner,
    /// The project.
    #[schema(value_type = schema::ProjectId)]
    pub project: ProjectId,
    /// Its number among the chats of its owner, which is never given again.
    pub number: u64,
    /// What the user was asked to confirm, if that was the last thing that happened.
    pub proposal: Option<String>,
    /// When it began.
    #[schema(value_type = schema::Time)]
    pub created: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    pub updated: Time,
}

impl From<types::ProjectChat> for ProjectChat {
    fn from(chat: types::ProjectChat) -> Self {
        let types::ProjectChat { agent, owner, project, number, proposal, created, updated } = chat;
        let proposal = proposal.map(|proposal| proposal.prompt);
        Self { agent, owner, project, number, proposal, created, updated }
    }
}
