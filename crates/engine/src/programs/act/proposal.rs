//! A change that the user was asked to confirm.

use entourage_types::{Document, DocumentId};

/// A change that the user was asked to confirm in the last message, and that is not done yet. What they answer is
/// decided anew; a yes holds for the document as it was then (S5-R127).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// What the user was asked.
    pub(crate) prompt: String,
    /// The document that would change, and its version at that time; none for a new document.
    pub(crate) target: Option<(DocumentId, u64)>,
}

/// How the document of a proposal is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetState {
    /// As it was, or there is none.
    Unchanged,
    /// It has another version.
    Changed,
    /// It is not in the project any more.
    Gone,
}

impl Proposal {
    /// Returns the document that would change, if it is among these.
    pub(crate) fn document<'a>(&self, documents: &'a [Document]) -> Option<&'a Document> {
        let (id, _) = self.target?;
        documents.iter().find(|document| document.head.id == id)
    }

    /// Returns how the document is now that would change.
    pub(crate) fn state(&self, documents: &[Document]) -> TargetState {
        match (self.target, self.document(documents)) {
            (None, _) => TargetState::Unchanged,
            (Some((_, version)), Some(document)) if document.head.version == version => {
                TargetState::Unchanged
            }
            (Some(_), Some(_)) => TargetState::Changed,
            (Some(_), None) => TargetState::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::document, *};

    #[test]
    fn a_proposal_holds_for_the_version_that_it_was_made_for() {
        let documents = [document(1, "Recipes"), document(2, "Budget")];
        let of = |target| Proposal { prompt: "Should I proceed?".into(), target }.state(&documents);
        let id = documents[1].head.id;
        assert_eq!(of(None), TargetState::Unchanged);
        assert_eq!(of(Some((id, 1))), TargetState::Unchanged);
        assert_eq!(of(Some((id, 2))), TargetState::Changed);
        assert_eq!(of(Some((DocumentId::new(), 1))), TargetState::Gone);
    }
}
