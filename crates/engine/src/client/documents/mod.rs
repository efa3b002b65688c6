//! A person's projects and documents: each change is one commit, with a version that can be shown, compared and
//! brought back.

mod acts;
mod change;
mod chats;
mod create;
mod delete;
mod diff;
mod export;
mod file_names;
mod messages;
mod numbers;
mod projects;
mod read;
mod search;
mod undo;
mod versions;

pub use acts::{AcceptedAct, NewAct, OnceKey};
pub use change::ExpectedVersion;
pub use diff::{DiffHunk, DiffLine, DocumentDiff, Replaced};
pub use export::{ExportedFile, ProjectExport};
pub use file_names::file_names;
pub use messages::{ActResult, ProjectMessage};
pub use projects::{NewProject, ProjectChange};
pub use search::FoundDocument;

use entourage_store::Commit;
use entourage_types::Editor;

use super::Client;
use crate::{
    NodeSignal,
    documents::{Documents, Refused},
};

impl Client {
    /// The documents of this owner, as the owner writes them.
    fn as_editor(&self) -> Documents<'_> {
        Documents::of(&**self.engine.store(), &self.owner, Editor::Person)
    }

    /// Commits a change that gives something this name.
    pub(super) async fn commit_named(&self, commit: Commit, name: &str) -> Result<(), Refused> {
        self.engine.commit(commit).await.map_err(|refusal| Refused::of(refusal, name))?;
        // No event of a tree tells of it.
        self.engine.inner.news.documents(&self.owner);
        self.engine.inner.signals.broadcast(NodeSignal::Documents(self.owner.clone()));
        Ok(())
    }
}
