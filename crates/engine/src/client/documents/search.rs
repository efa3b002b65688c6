//! Full-text search in the documents of a project.

use entourage_store::{Page, RecordFilter};
use entourage_types::{Document, DocumentHead, Project, ProjectId, snippet, sought_words};

use super::super::Client;
use crate::{Error, Result};

/// At most so many documents are found at once: the text of each is read.
const MOST: u32 = 50;
/// So many characters around the words are shown.
const SNIPPET_CHARS: usize = 240;

/// A document that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundDocument {
    /// The document.
    pub head: DocumentHead,
    /// The words in context, in one line; the beginning of the text if only the name has them.
    pub snippet: String,
}

impl Client {
    /// Documents of a project that have all of these words in their name or their text, the last one as a prefix: at
    /// most 50, the best match first. A page that is newest first has the documents in the order of their creation, and
    /// the next one begins after the id of its last.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the project; [`Error::Invalid`] if no word is given.
    pub async fn search_documents(
        &self,
        project: ProjectId,
        words: &str,
        page: Page,
    ) -> Result<Vec<FoundDocument>> {
        if sought_words(words).next().is_none() {
            return Err(Error::Invalid("there is no word to look for; give one".to_owned()));
        }
        self.project(project).await?;
        let page = Page { limit: page.limit.min(MOST), ..page };
        let of = RecordFilter::of(Project::as_parent(project));
        let heads = RecordFilter::<DocumentHead> { words: Some(words.to_owned()), page, ..of };
        let mut found = Vec::new();
        for head in self.records(heads).await? {
            // One text at a time: they may be long. A document may be deleted meanwhile.
            let document = self.engine.store().record::<Document>(&self.scope, head.id).await?;
            let shown = |document: Document| snippet(&document.content, words, SNIPPET_CHARS);
            found.extend(document.map(shown).map(|snippet| FoundDocument { head, snippet }));
        }
        Ok(found)
    }
}
