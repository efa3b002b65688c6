//! Problem documents (RFC 9457): the responses to requests that fail.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a request failed, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The type of the problem: a stable name for programs.
    #[serde(rename = "type")]
    #[schema(example = "urn:entourage:problem:not-found")]
    pub kind: Cow<'static, str>,
    /// A short title, the same for every problem of this type.
    #[schema(example = "Not found")]
    pub title: Cow<'static, str>,
    /// The HTTP status.
    #[schema(example = 404, minimum = 400, maximum = 599)]
    pub status: u16,
    /// The cause in this case, and what to do next.
    pub detail: String,
}

impl Problem {
    /// Whether the server is stopping, and accepts no more requests.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.kind == "urn:entourage:problem:shutting-down"
    }

    /// Whether what was asked for does not exist, or is not the caller's.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.kind == "urn:entourage:problem:not-found"
    }

    /// Whether a document was changed since the caller read it.
    #[must_use]
    pub fn is_stale_version(&self) -> bool {
        self.kind == "urn:entourage:problem:stale-version"
    }

    /// Whether an answer was refused because its question is no longer open.
    #[must_use]
    pub fn is_not_open(&self) -> bool {
        self.kind == "urn:entourage:problem:question-not-open"
    }

    /// Whether events were requested after a number that the server no longer has, or does not have yet.
    #[must_use]
    pub fn is_cursor_gone(&self) -> bool {
        self.kind == "urn:entourage:problem:cursor-gone"
    }
}
