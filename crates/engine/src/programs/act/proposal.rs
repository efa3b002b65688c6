//! A change that the user was asked to confirm.

use entourage_types::{DocumentHead, ProposedChange, ProposedTarget};

use super::excerpt::DocumentExcerpt;

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

/// Returns the document that would change, if it is among these.
pub(crate) fn target<'a>(
    proposed: &ProposedChange,
    documents: &'a [DocumentExcerpt],
) -> Option<&'a DocumentHead> {
    let ProposedTarget { document, .. } = proposed.target?;
    documents.iter().map(|found| &found.head).find(|head| head.id == document)
}

/// Returns how the document is now that would change: what the user answers is decided anew, and a yes holds for the
/// document as it was when they were asked (S5-R127).
pub(crate) fn state(proposed: &ProposedChange, documents: &[DocumentExcerpt]) -> TargetState {
    match (proposed.target, target(proposed, documents)) {
        (None, _) => TargetState::Unchanged,
        (Some(asked), Some(document)) if document.version == asked.version => TargetState::Unchanged,
        (Some(_), Some(_)) => TargetState::Changed,
        (Some(_), None) => TargetState::Gone,
    }
}

/// Whether this change of a document is the one that the user was asked to confirm: of that document as it was, and in
/// the words in which it was decided.
pub(crate) fn is_confirmed(proposed: &ProposedChange, document: &DocumentHead, change: &str) -> bool {
    let asked = ProposedTarget { document: document.id, version: document.version };
    let words = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ").to_lowercase()
    };
    let change = words(change);
    proposed.target == Some(asked) && !change.is_empty() && words(&proposed.change) == change
}

#[cfg(test)]
mod tests {
    use entourage_types::DocumentId;

    use super::{super::tests::document, *};

    fn proposed(document: Option<DocumentId>, version: u64) -> ProposedChange {
        let target = document.map(|document| ProposedTarget { document, version });
        ProposedChange { prompt: "Should I proceed?".into(), target, change: "Remove the soup.".into() }
    }

    #[test]
    fn a_proposal_holds_for_the_version_that_it_was_made_for() {
        let documents = [document(1, "Recipes"), document(2, "Budget")];
        let id = documents[1].head.id;
        for (document, version, expected) in [
            (None, 1, TargetState::Unchanged),
            (Some(id), 1, TargetState::Unchanged),
            (Some(id), 2, TargetState::Changed),
            (Some(DocumentId::new()), 1, TargetState::Gone),
        ] {
            assert_eq!(state(&proposed(document, version), &documents), expected);
        }
    }

    #[test]
    fn a_yes_confirms_that_change_of_that_document_and_no_other() {
        let (asked, other) = (document(1, "Recipes").head, document(2, "Budget").head);
        let of_asked = proposed(Some(asked.id), 1);
        assert!(is_confirmed(&of_asked, &asked, " remove  the soup\n"));
        assert!(!is_confirmed(&of_asked, &asked, "Translate the soup."));
        assert!(!is_confirmed(&of_asked, &other, "Remove the soup."));
        assert!(!is_confirmed(&proposed(Some(asked.id), 2), &asked, "Remove the soup."));
        assert!(!is_confirmed(&proposed(None, 1), &asked, "Remove the soup."));
        let silent = ProposedChange { change: String::new(), ..of_asked };
        assert!(!is_confirmed(&silent, &asked, ""), "what was not said was not confirmed");
    }
}
