//! Projects and chats about them.

use entourage_api::schema;
use entourage_types::{Project, ProjectChat, Time};
use serde::Serialize;
use utoipa::ToSchema;

/// A project.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NumberedProject)]
pub(crate) struct ProjectView {
    /// Its id.
    pub(crate) id: u64,
    /// Its name.
    name: String,
    /// What it is about; may be empty.
    description: String,
    /// When it was created.
    #[schema(value_type = schema::Time)]
    created_at: Time,
    /// When its name or description last changed.
    #[schema(value_type = schema::Time)]
    updated_at: Time,
}

impl From<Project> for ProjectView {
    fn from(project: Project) -> Self {
        let Project { number, name, description, created, updated, .. } = project;
        Self { id: number, name, description, created_at: created, updated_at: updated }
    }
}

/// A chat about the documents of a project.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NumberedChat)]
pub(crate) struct ProjectChatView {
    /// Its id.
    id: u64,
    /// The project.
    project_id: u64,
    /// When it began.
    #[schema(value_type = schema::Time)]
    created_at: Time,
    /// When it last changed.
    #[schema(value_type = schema::Time)]
    updated_at: Time,
}

impl ProjectChatView {
    /// The chat, of the project with this number.
    pub(crate) fn of(project: u64, chat: &ProjectChat) -> Self {
        let ProjectChat { number, created, updated, .. } = chat;
        Self { id: *number, project_id: project, created_at: *created, updated_at: *updated }
    }
}
