//! The chats about the documents of a project, and what their messages came to.

use entourage_store::{Page, RecordFilter};
use entourage_types::{Act, AgentId, Project, ProjectChat, ProjectId, RunId};

use super::super::{Client, Narrowed};
use crate::Result;

impl Client {
    /// A page of the chats about a project.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn project_chats(&self, project: ProjectId, page: Page) -> Result<Narrowed<ProjectChat>> {
        self.project(project).await?;
        self.searched(RecordFilter { page, ..RecordFilter::of(Project::as_parent(project)) }).await
    }

    /// What a message of such a chat came to, by the run that answered it; none before its answer.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn act_of(&self, run: RunId) -> Result<Option<Act>> {
        Ok(self.engine.store().record(&self.scope, run).await?)
    }

    /// What the messages of a chat came to, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn acts(&self, chat: AgentId, page: Page) -> Result<Vec<Act>> {
        self.records(RecordFilter { page, ..RecordFilter::of(chat) }).await
    }
}
