//! What an act came to.

use super::decision::ActDecision;

/// What an act came to. Whether the web was searched is known of what succeeded alone, so that no text tells of a failure
/// and of a search (S5-R092).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The user was asked what they mean: the question.
    Clarification(String),
    /// The user was asked whether to go on: what they confirm.
    Confirmation(String),
    /// A document was created.
    Created {
        /// Its name.
        name: String,
        /// What the model said that it would do.
        intent: Option<String>,
        /// What is in the document, in the model's words.
        summary: Option<String>,
        /// Whether the web was searched for it.
        web: Web,
    },
    /// No document was created.
    NotCreated(CreationError),
    /// A document was changed.
    Updated {
        /// Its name.
        name: String,
        /// What the model said that it would do.
        intent: Option<String>,
        /// What was changed, in the model's words.
        summary: Option<String>,
        /// Whether the web was searched for it.
        web: Web,
    },
    /// A document was not changed.
    NotUpdated {
        /// Its name.
        name: String,
        /// Why.
        why: EditError,
    },
    /// The user was answered, and nothing was changed: the answer.
    Conversation(String),
    /// No model gave an answer that could be used, and nothing was changed (S5-R120): why, for the log and the
    /// decision, not for the user.
    ModelFailed(String),
}

/// Whether the web was searched. A search that failed is none (S5-R055).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Web {
    /// It was.
    Searched,
    /// It was not.
    NotSearched,
}

/// Why a document was not created (S5-R077).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CreationError {
    /// The project has a document of this name.
    NameTaken(String),
    /// The document would have had no name.
    NoName,
    /// Any other reason, in a sentence for the user.
    Refused(String),
}

/// Why a document was not changed (S5-R094).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditError {
    /// It is no longer there.
    Gone,
    /// Somebody else changed it in the meantime.
    Changed,
    /// The model came back with no text (S5-R064).
    Empty,
    /// The model's change has no place in the text.
    Misplaced,
    /// Any other reason, in a sentence for the user.
    Refused(String),
}

impl Outcome {
    /// A document of this name was created, as decided.
    pub(crate) fn created(name: String, decision: &ActDecision, web: Web) -> Self {
        let (intent, summary) = (decision.intent_statement.clone(), decision.content_summary.clone());
        Self::Created { name, intent, summary, web }
    }

    /// The document of this name was changed, as decided. What was to be changed stands for a summary that is missing.
    pub(crate) fn updated(name: String, decision: &ActDecision, web: Web) -> Self {
        let summary = decision.content_summary.as_ref().or(decision.change_summary.as_ref()).cloned();
        Self::Updated { name, intent: decision.intent_statement.clone(), summary, web }
    }

    /// Whether a document was created or changed: what `success` means in the event (S5-R105).
    pub(crate) const fn is_success(&self) -> bool {
        matches!(self, Self::Created { .. } | Self::Updated { .. })
    }

    /// Whether a document was changed: what `document_updated` means, which a creation is not (S5-R101).
    pub(crate) const fn is_update(&self) -> bool {
        matches!(self, Self::Updated { .. })
    }
}
