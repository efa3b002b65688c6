//! What model calls used and cost, in units that add up exactly.

use std::{fmt, iter::Sum, ops::AddAssign};

use serde::{Deserialize, Serialize};

use crate::{Day, Hour};

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
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.cache_written = self.cache_written.saturating_add(other.cache_written);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
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

    /// Whether it is nothing.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The amount in billionths of a US dollar.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }
}

impl Usage {
    /// Whether nothing was used, or no usage is known.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Tokens in and out.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
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

/// Answers of models added up. Discarded answers count as well: they were paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// How many answers.
    pub calls: u64,
    /// How many of them came from a model without a known price: `cost` leaves them out.
    pub unpriced: u64,
    /// Their tokens.
    pub usage: Usage,
    /// What they cost, as far as prices are known.
    pub cost: Cost,
}

impl AddAssign<&ModelUse> for Tally {
    fn add_assign(&mut self, used: &ModelUse) {
        self.calls += 1;
        self.unpriced += u64::from(used.cost.is_none());
        self.usage += used.usage;
        self.cost += used.cost.unwrap_or_default();
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.unpriced += other.unpriced;
        self.usage += other.usage;
        self.cost += other.cost;
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), |mut total, tally| {
            total += tally;
            total
        })
    }
}

/// What one model used in one hour. A run keeps a list of these: reports add usage up from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourlyUsage {
    /// The day in UTC on which the answers were charged.
    pub day: Day,
    /// The hour of that day; none for answers from before hours were kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hour: Option<Hour>,
    /// The model, as `provider::name`.
    pub model: String,
    /// The answers.
    #[serde(flatten)]
    pub tally: Tally,
}
