//! A new document, with its number and its first version.

use entourage_store::{Commit, Page, RecordFilter, counter::next_number};
use entourage_types::{
    Change, DOCUMENTS_OF_PROJECT, Document, DocumentHead, DocumentId, NewDocument, Project, ProjectId,
    RecordWrite, Scope,
};

use super::Documents;
use crate::{Error, Result};

impl Documents<'_> {
    /// Adds a new document to a commit, and the next number of its owner's documents with it.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name or a text that cannot be kept; [`Error::ProjectFull`].
    pub(crate) async fn create(
        &self,
        id: DocumentId,
        new: NewDocument,
        commit: &mut Commit,
    ) -> Result<Document> {
        let NewDocument { project, name, standing_instruction, content, summary } = new.checked()?;
        let number = next_number(self.store, self.owner, Document::COUNTER, commit).await?;
        // Counted after the counter was read: of two creations at once the counter lets one commit, so that no
        // project becomes fuller than this, whatever happens between here and the commit.
        self.check_room(project).await?;
        let head = DocumentHead {
            id,
            owner: self.owner.clone(),
            project,
            number,
            name,
            standing_instruction,
            version: 1,
            created: commit.at,
            updated: commit.at,
        };
        let document = Document { head, content };
        let first = document.as_version(self.editor, Change::Created, summary);
        commit.record(RecordWrite::of(&document)?.at_version(0));
        commit.record(RecordWrite::of(&first)?.at_version(0));
        Ok(document)
    }

    async fn check_room(&self, project: ProjectId) -> Result<()> {
        let page = Page { skip: DOCUMENTS_OF_PROJECT - 1, limit: 1, ..Page::default() };
        let last = RecordFilter::<DocumentHead> { page, ..RecordFilter::of(Project::as_parent(project)) };
        if self.store.records(&Scope::from(self.owner), last).await?.is_empty() {
            return Ok(());
        }
        Err(Error::ProjectFull)
    }
}
