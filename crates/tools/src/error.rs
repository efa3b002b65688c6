//! What a tool says when it could not do what it was asked. The model reads it.

/// Why a call failed; the text goes to the model, so it says what to do differently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arguments do not fit the schema.
    #[error("the arguments of `{tool}` are not valid: {why}")]
    Arguments {
        /// Which tool.
        tool: String,
        /// Each mistake with its place.
        why: String,
    },
    /// Something must be set up first; names the setting.
    #[error("{0}")]
    NotConfigured(String),
    /// What was asked is not allowed.
    #[error("not allowed: {0}")]
    NotAllowed(String),
    /// It had not come back after so many seconds. Whether it took effect is not known.
    #[error("no result after {0} s; the call was cut off")]
    TimedOut(u64),
    /// It was cut off otherwise. Whether it took effect is not known.
    #[error("{0}")]
    InDoubt(String),
    /// It was tried and failed.
    #[error("{0}")]
    Failed(String),
}
