//! A change of a document: the next version of it, if it differs from the present one.

use entourage_store::{Commit, Versioned};
use entourage_types::{
    Change, Document, DocumentHead, RecordWrite, check_content, check_instruction, checked_name,
    checked_summary,
};

use super::Documents;
use crate::Result;

/// A change of a document. What is not given stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentChange {
    /// Its new name.
    pub name: Option<String>,
    /// Its new standing instruction.
    pub standing_instruction: Option<String>,
    /// Its new text.
    pub content: Option<String>,
    /// What the change is about, in a line; may be empty.
    pub summary: String,
}

impl Documents<'_> {
    /// Adds the next version of a document to a commit, which is refused if the document was written since it was
    /// read. None if the change changes nothing: nothing is added then.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a name or a text that cannot be kept.
    pub(crate) fn revise(
        &self,
        before: Versioned<Document>,
        what: DocumentChange,
        how: Change,
        commit: &mut Commit,
    ) -> Result<Option<Document>> {
        let Versioned { record: before, version } = before;
        let DocumentChange { name, standing_instruction, content, summary } = what;
        let summary = checked_summary(&summary)?;
        let name = name.map(|name| checked_name(&name)).transpose()?;
        standing_instruction.as_deref().map(check_instruction).transpose()?;
        content.as_deref().map(check_content).transpose()?;
        let mut after = before.clone();
        let DocumentHead { name: its_name, standing_instruction: its_instruction, .. } = &mut after.head;
        name.into_iter().for_each(|name| *its_name = name);
        standing_instruction.into_iter().for_each(|instruction| *its_instruction = instruction);
        content.into_iter().for_each(|content| after.content = content);
        if after == before {
            return Ok(None);
        }
        after.head.version += 1;
        after.head.updated = commit.at;
        let kept = after.as_version(self.editor, how, summary);
        commit.record(RecordWrite::of(&after)?.at_version(version));
        commit.record(RecordWrite::of(&kept)?.at_version(0));
        Ok(Some(after))
    }
}
