//! Errors of model calls, grouped by what the caller can do about them.

use std::time::Duration;

/// An error of a model call.
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
    /// The provider failed.
    #[error("{model}: {cause}")]
    Unavailable {
        /// Which model.
        model: String,
        /// Status and message.
        cause: String,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// Nothing answers at the provider's address, or the connection was cut before an answer began.
    #[error("{model}: cannot be reached: {cause}")]
    Unreachable {
        /// Which model.
        model: String,
        /// The network's error.
        cause: String,
        /// Whether there was a connection: the provider may have received the request and worked on it.
        sent: bool,
    },
    /// The response headers did not arrive in time, or the stream was silent for longer than allowed.
    #[error("{model}: no answer for {} s", after.as_secs())]
    TimedOut {
        /// Which model.
        model: String,
        /// The timeout that elapsed.
        after: Duration,
    },
    /// The answer is whole, and has neither text nor a tool call.
    #[error("{model}: the answer is empty: neither text nor a tool call")]
    Empty {
        /// Which model.
        model: String,
    },
    /// The answer ended at the provider's limit of tokens for one answer.
    #[error(
        "{model}: the answer is cut off at the provider's limit of tokens for one answer, after {written}: ask for less at \
         once, or use a model that writes more"
    )]
    AtTokenLimit {
        /// Which model.
        model: String,
        /// How many tokens it has.
        written: u64,
    },
    /// The stream ended before the answer did, or did not decode.
    #[error("{model}: the answer is {what}")]
    BadAnswer {
        /// Which model.
        model: String,
        /// What is wrong with it.
        what: String,
    },
    /// The answer exceeded the size limit and was not read to its end. The same model would do it again.
    #[error(
        "{model}: the answer has no end; it was cut off after {bytes} bytes. Ask for less at once, or ask another model"
    )]
    TooLong {
        /// Which model.
        model: String,
        /// How many bytes of it were read.
        bytes: usize,
    },
    /// No request was made: the gate before the model is closed.
    #[error("{model}: not asked, its provider needs a pause of {} s", after.as_secs_f64().ceil())]
    Busy {
        /// Which model.
        model: String,
        /// How long to wait.
        after: Duration,
    },
    /// The model does not exist, or may not be used: an unknown name, a wrong key, no credit.
    #[error("{model} cannot be used: {cause}")]
    Denied {
        /// Which model.
        model: String,
        /// What is missing.
        lack: Missing,
        /// Status and message.
        cause: String,
    },
    /// The provider refuses the request itself; it would refuse another attempt too.
    #[error("{model} refuses the request: {cause}")]
    Refused {
        /// Which model.
        model: String,
        /// Status and message.
        cause: String,
    },
    /// The request is longer than the model's window; the model may accept a shorter one.
    #[error("{model}: the request is too long: {cause}")]
    BeyondWindow {
        /// Which model.
        model: String,
        /// Status and message.
        cause: String,
    },
    /// Nothing, or something contradictory, is configured for the requested model.
    #[error("{0}")]
    Configuration(String),
}

/// What is missing to use a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// A key that the provider accepts.
    Key,
    /// Credit.
    Credit,
    /// A model of this name.
    Model,
}

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

    /// Whether a provider bills nothing for a request that ended like this before any piece of the answer came: it was
    /// not made, or was refused.
    #[must_use]
    pub const fn is_unbilled(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Unavailable { .. }
                | Self::Unreachable { sent: false, .. }
                | Self::Busy { .. }
                | Self::Refused { .. }
                | Self::BeyondWindow { .. }
                | Self::Denied { .. }
                | Self::Configuration(_)
        )
    }

    /// Whether the model answered to its end, and the answer is of no use: another attempt is another answer, and no
    /// repair of the connection.
    #[must_use]
    pub const fn is_useless_answer(&self) -> bool {
        matches!(self, Self::Empty { .. } | Self::AtTokenLimit { .. } | Self::TooLong { .. })
    }

    /// Returns a sentence for people who use agents. The provider's own message is for logs and programs: it
    /// names models, addresses and accounts.
    #[must_use]
    pub fn for_people(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } | Self::Busy { .. } => {
                "the model has too many requests at the moment; try again in some minutes"
            }
            Self::Unavailable { .. } => "the service behind the model has failed; try again later",
            Self::Unreachable { .. } => {
                "the service behind the model could not be reached; check the network, or try again later"
            }
            Self::TimedOut { .. } => "the model did not answer in time; try again later",
            Self::Empty { .. } => "the model gave no answer; try again",
            Self::AtTokenLimit { .. } => {
                "the model's answer was cut off at the limit of one answer; ask for less at once"
            }
            Self::BadAnswer { .. } => "the model's answer could not be read; try again",
            Self::TooLong { .. } => "the model's answer had no end and was cut off; ask for less at once",
            Self::Denied { lack: Missing::Key, .. } => {
                "the service behind the model does not accept the key that is set; the operator must replace it"
            }
            Self::Denied { lack: Missing::Credit, .. } => {
                "the account behind the model has no credit left; the operator must add some"
            }
            Self::Denied { lack: Missing::Model, .. } => {
                "the model that is set was not found; the operator must correct its name or its address"
            }
            Self::Refused { .. } => {
                "the service behind the model refused the request; the operator finds the cause in the log"
            }
            Self::BeyondWindow { .. } => {
                "the conversation is too long for the model; begin a new one, or ask about less at once"
            }
            Self::Configuration(_) => {
                "the model is not set up correctly; the operator must correct the settings"
            }
        }
    }

    /// How long the provider, or the gate before the model, asks to wait.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Unavailable { retry_after, .. } => *retry_after,
            Self::Busy { after, .. } => Some(*after),
            _ => None,
        }
    }
}
