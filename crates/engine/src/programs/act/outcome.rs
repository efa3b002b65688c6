//! What an act came to.

use entourage_types::{ActOutcome, AnswerFlaw};

use super::decision::ActDecision;
use crate::{Error, run::DecisionFailed};

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
    /// The new text was cut off at the model's limit.
    CutOff,
    /// The model's change has no place in the text.
    Misplaced,
    /// The text would be as it is.
    Same,
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

    /// No new text was written for the document of this name.
    pub(crate) fn unwritten(name: String, failed: DecisionFailed) -> Self {
        match failed.flaw {
            Some(AnswerFlaw::Empty) => Self::NotUpdated { name, why: EditError::Empty },
            Some(AnswerFlaw::CutOff) => Self::NotUpdated { name, why: EditError::CutOff },
            None => Self::ModelFailed(failed.why),
        }
    }

    /// What it came to, as it is kept.
    pub(crate) const fn kind(&self) -> ActOutcome {
        match self {
            Self::Clarification(_) => ActOutcome::Clarification,
            Self::Confirmation(_) => ActOutcome::Confirmation,
            Self::Created { .. } => ActOutcome::Created,
            Self::NotCreated(_) => ActOutcome::NotCreated,
            Self::Updated { .. } => ActOutcome::Updated,
            Self::NotUpdated { .. } => ActOutcome::NotUpdated,
            Self::Conversation(_) => ActOutcome::Conversation,
            Self::ModelFailed(_) => ActOutcome::ModelFailed,
        }
    }

    /// What it came to after all, if what it was about to do is refused for this reason.
    pub(crate) fn refused(self, why: &Error) -> Self {
        match (self, why) {
            (Self::Created { .. }, Error::NameInUse { name, .. }) => {
                Self::NotCreated(CreationError::NameTaken(name.clone()))
            }
            (Self::Created { name, .. }, _) if name.trim().is_empty() => {
                Self::NotCreated(CreationError::NoName)
            }
            (Self::Created { .. }, why) => Self::NotCreated(CreationError::Refused(why.to_string())),
            (Self::Updated { name, .. }, Error::StaleVersion { .. }) => {
                Self::NotUpdated { name, why: EditError::Changed }
            }
            (Self::Updated { name, .. }, Error::NotFound { .. }) => {
                Self::NotUpdated { name, why: EditError::Gone }
            }
            (Self::Updated { name, .. }, why) => {
                Self::NotUpdated { name, why: EditError::Refused(why.to_string()) }
            }
            // These write nothing that could be refused but what they are.
            (other, _) => other,
        }
    }
}
