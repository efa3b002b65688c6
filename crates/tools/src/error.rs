//! Errors of tool calls. The model reads them.

/// Why a call failed; the text goes to the model, so it says what to do differently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arguments do not fit the schema.
    #[error("the arguments of `{tool}` are not valid: {why}")]
    Arguments {
        /// Which tool.
        tool: String,
        /// Each mistake with its location.
        why: String,
    },
    /// Something must be configured first; names the setting.
    #[error("{0}")]
    NotConfigured(String),
    /// The request is not allowed.
    #[error("not allowed: {0}")]
    NotAllowed(String),
    /// The call did not return within so many seconds. Whether it took effect is unknown.
    #[error("no result after {0} s; the call was cut off")]
    TimedOut(u64),
    /// The call was interrupted for another reason. Whether it took effect is unknown.
    #[error("{0}")]
    InDoubt(String),
    /// What the tool needs of the machine is not there now. Code that waited for its calls is run again later; any other
    /// call has failed.
    #[error("{0}")]
    Unavailable(String),
    /// What ran the code of the call was killed by something else. The same as unavailable, but the code may be the cause:
    /// the [record](crate::SubCallRecord::kills) counts these.
    #[error("{0}")]
    Killed(String),
    /// The call was carried out and failed.
    #[error("{0}")]
    Failed(String),
}
