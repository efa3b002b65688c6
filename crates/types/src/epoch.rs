//! The epoch of a claim, which fences commits.

use serde::{Deserialize, Serialize};

/// What a claim of an agent returns and a commit of its activation names. A store compares the whole of it.
///
/// JSON has the number alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct Epoch {
    /// Rises with every claim.
    pub number: u64,
    /// Tells two claims of the same number apart. For a store in which a crash may undo a claim that it has
    /// returned, so that the number is given again; 0 in all others.
    pub token: u64,
}

impl Epoch {
    /// The epoch of the next claim, with this token.
    #[must_use]
    pub const fn next(self, token: u64) -> Self {
        Self { number: self.number + 1, token }
    }
}

impl From<u64> for Epoch {
    fn from(number: u64) -> Self {
        Self { number, token: 0 }
    }
}

impl From<Epoch> for u64 {
    fn from(epoch: Epoch) -> Self {
        epoch.number
    }
}
