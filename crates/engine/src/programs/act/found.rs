//! What the one search of a message came to (S5-R050).

use entourage_tools::SearchDetails;

use super::{outcome::Web, prompt::WebResults};
use crate::run::CallResult;

/// What a search came to.
pub(super) enum Found {
    Nothing,
    Failed,
    Results(String),
}

impl Found {
    /// What the call of the search came to.
    pub(super) fn of(call: CallResult) -> Self {
        let CallResult::Returned(output) = call else { return Self::Failed };
        if output.error {
            return Self::Failed;
        }
        // A tool of another server may say what it found in its text alone.
        let details = output.details.and_then(|details| serde_json::from_value(details).ok());
        match details {
            // The text is for a model that may search again.
            Some(SearchDetails { results }) if results.is_empty() => Self::Nothing,
            _ => Self::Results(output.text),
        }
    }

    pub(super) const fn web(&self) -> Web {
        match self {
            Self::Results(_) => Web::Searched,
            Self::Nothing | Self::Failed => Web::NotSearched,
        }
    }

    pub(super) fn results(&self) -> WebResults<'_> {
        match self {
            Self::Nothing => WebResults::NotSearched,
            Self::Failed => WebResults::Failed,
            Self::Results(text) => WebResults::Found(text),
        }
    }
}
