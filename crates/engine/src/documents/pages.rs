//! The documents of a project, whole, a few at a time.

use std::collections::HashSet;

use entourage_store::{Page, RecordFilter, Result, Store};
use entourage_types::{Document, DocumentId, Project, ProjectId, Scope};

use crate::pages::{Pages, pages};

/// A page ends where the documents in it have so many bytes.
const BYTES: usize = 4 << 20;

/// The documents of a project, in the order in which they were created, each once.
pub(crate) struct DocumentPages<'a> {
    pages: Pages<'a, RecordFilter<Document>>,
    known: HashSet<DocumentId>,
}

impl<'a> DocumentPages<'a> {
    pub(crate) fn of(store: &'a dyn Store, scope: &'a Scope, project: ProjectId) -> Self {
        let of_project = RecordFilter::of(Project::as_parent(project));
        let page = Page { bytes: BYTES, ..Page::default() };
        let all = RecordFilter { with_texts: true, page, ..of_project };
        Self { pages: pages(store, scope, all), known: HashSet::new() }
    }

    /// Reads the next few; none after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Document>>> {
        let Some(mut page) = self.pages.next().await? else { return Ok(None) };
        // A page is read again if others delete all documents of the one before.
        page.retain(|document| self.known.insert(document.head.id));
        Ok(Some(page))
    }
}
