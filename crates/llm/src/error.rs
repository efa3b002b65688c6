//! What can go wrong in a model call, by what the caller can do about it.

use std::time::Duration;

/// What can go wrong in a model call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The provider asks to slow down.
    #[error("{model}: too many requests{}", retry_after.map(|d| format!(", try again in {} s", d.as_secs())).unwrap_or_default())]
    RateLimited {
        /// Which model.
        model: String,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The provider failed or cannot be reached.
    #[error("{model}: {cause}")]
    Unavailable {
        /// Which model.
        model: String,
        /// Status and message, or the network's error.
        cause: String,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// No headers, or silence in the middle, for longer than allowed.
    #[error("{model}: no answer for {} s", after.as_secs())]
    TimedOut {
        /// Which model.
        model: String,
        /// How long was waited.
        after: Duration,
    },
    /// The stream ended before the answer did, was empty, or did not decode.
    #[error("{model}: the answer is {what}")]
    BadAnswer {
        /// Which model.
        model: String,
        /// In which way.
        what: String,
    },
    /// The answer went on beyond what any model is asked for, and was not read to its end. The same
    /// model would do it again.
    #[error(
        "{model}: the answer has no end; it was cut off after {bytes} bytes. Ask for less at once, or ask another model"
    )]
    TooLong {
        /// Which model.
        model: String,
        /// How much of it was read.
        bytes: usize,
    },
    /// Nobody was asked: the gate before the model is closed.
    #[error("{model}: not asked, its provider needs a pause of {} s", after.as_secs_f64().ceil())]
    Busy {
        /// Which model.
        model: String,
        /// For how long.
        after: Duration,
    },
    /// The model is not there, or not for us: an unknown name, a wrong key, no credit.
    #[error("{model} cannot be used: {cause}")]
    Denied {
        /// Which model.
        model: String,
        /// Status and message.
        cause: String,
    },
    /// The provider refuses the request itself; another attempt would be refused too.
    #[error("{model} refuses the request: {cause}")]
    Refused {
        /// Which model.
        model: String,
        /// Status and message.
        cause: String,
    },
    /// The request is longer than the model's window; a shorter one may be taken.
    #[error("{model}: the request is too long: {cause}")]
    BeyondWindow {
        /// Which model.
        model: String,
        /// Status and message.
        cause: String,
    },
    /// Nothing, or something contradictory, is configured for the model asked for.
    #[error("{0}")]
    Configuration(String),
}

/// How the description of an answer begins that says nothing.
const EMPTY: &str = "empty";

impl Error {
    /// Whether another attempt may help.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        !matches!(
            self,
            Self::Refused { .. }
                | Self::BeyondWindow { .. }
                | Self::Denied { .. }
                | Self::TooLong { .. }
                | Self::Configuration(_)
        )
    }

    /// An answer of a model that says nothing.
    #[must_use]
    pub fn empty(model: String) -> Self {
        Self::BadAnswer { model, what: format!("{EMPTY}: neither text nor a tool call") }
    }

    /// Whether the model answered, and said nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::BadAnswer { what, .. } if what.starts_with(EMPTY))
    }

    /// How long the provider, or the gate before it, asks to wait.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Unavailable { retry_after, .. } => *retry_after,
            Self::Busy { after, .. } => Some(*after),
            _ => None,
        }
    }
}
