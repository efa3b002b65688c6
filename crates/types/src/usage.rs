//! What model calls used and cost, in units that add up exactly.

use std::{fmt, iter::Sum, ops::AddAssign};

use serde::{Deserialize, Serialize};

/// Tokens of one call, or of many added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens, the cached ones included.
    pub input: u64,
    /// Tokens the model wrote, reasoning included.
    pub output: u64,
    /// Prompt tokens read from the provider's cache.
    #[serde(default)]
    pub cached: u64,
    /// Prompt tokens written to the provider's cache.
    #[serde(default)]
    pub cache_written: u64,
    /// Output tokens spent on reasoning.
    #[serde(default)]
    pub reasoning: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cached += other.cached;
        self.cache_written += other.cache_written;
        self.reasoning += other.reasoning;
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), |mut total, usage| {
            total += usage;
            total
        })
    }
}

/// An amount of money in billionths of a US dollar, so that sums are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cost(u64);

impl Cost {
    /// An amount from billionths of a US dollar.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The amount in billionths of a US dollar.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        write!(f, "${whole}.{:06}", part / 1_000)
    }
}

/// What one model call used, kept with its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUse {
    /// The model that answered, as `provider::name`.
    pub model: String,
    /// Its tokens.
    pub usage: Usage,
    /// Its price in billionths of a US dollar; none when no price is known for the model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<Cost>,
}
