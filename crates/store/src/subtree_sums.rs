//! The sums that stores keep in a row for each agent with agents below it, and how commits change them.

use entourage_types::{Cost, HourlyUsage, ShownStatus, Tally, Usage};

use crate::Subtree;

const STATUSES: usize = ShownStatus::ALL.len();
const QUESTIONS: usize = STATUSES;
/// The first of the sums of usage.
const USED: usize = QUESTIONS + 1;
const SUMS: usize = USED + 8;

/// Sums over agents, or what a commit changes in them, in the order of [`COLUMNS`](Self::COLUMNS). None goes beyond what
/// an integer of a database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SubtreeSums([i64; SUMS]);

impl SubtreeSums {
    /// What each sum is of.
    pub const COLUMNS: [&str; SUMS] = [
        "idle",
        "queued",
        "running",
        "waiting",
        "succeeded",
        "failed",
        "stopped",
        "cancelled",
        "questions",
        "calls",
        "unpriced",
        "input",
        "output",
        "cached",
        "cache_written",
        "reasoning",
        "cost",
    ];

    /// These sums, in the order of the columns.
    #[must_use]
    pub const fn of(sums: [i64; SUMS]) -> Self {
        Self(sums)
    }

    /// The sums, in the order of the columns.
    #[must_use]
    pub const fn values(&self) -> &[i64; SUMS] {
        &self.0
    }

    /// Whether this changes nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// So many more agents in this status.
    pub fn count(&mut self, status: ShownStatus, by: i64) {
        self.shift(status.index(), by);
    }

    /// So many more open questions.
    pub fn ask(&mut self, by: i64) {
        self.shift(QUESTIONS, by);
    }

    /// Adds what a run used.
    pub fn add_usage(&mut self, spent: &[HourlyUsage]) {
        self.used(spent, 1);
    }

    /// Takes away what a run used.
    pub fn take_usage(&mut self, spent: &[HourlyUsage]) {
        self.used(spent, -1);
    }

    /// Adds other sums.
    pub fn add(&mut self, other: &Self) {
        (0..SUMS).for_each(|at| self.shift(at, other.0[at]));
    }

    /// Takes other sums away.
    pub fn take(&mut self, other: &Self) {
        (0..SUMS).for_each(|at| self.shift(at, other.0[at].saturating_neg()));
    }

    /// Of these sums, those of usage.
    #[must_use]
    pub fn only_usage(mut self) -> Self {
        self.0[..USED].fill(0);
        self
    }

    /// Of these sums, all but those of usage.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.0[USED..].fill(0);
        self
    }

    fn used(&mut self, spent: &[HourlyUsage], sign: i64) {
        let figures = tally_figures(spent.iter().map(|spent| spent.tally).sum());
        (USED..).zip(figures).for_each(|(at, figure)| self.shift(at, sign * figure));
    }

    fn shift(&mut self, at: usize, by: i64) {
        self.0[at] = self.0[at].saturating_add(by);
    }
}

impl From<SubtreeSums> for Subtree {
    /// A sum below zero reads as zero.
    fn from(SubtreeSums(sums): SubtreeSums) -> Self {
        let [.., open_questions, calls, unpriced, input, output, cached, cache_written, reasoning, cost] =
            sums.map(|sum| u64::try_from(sum).unwrap_or_default());
        let agents = std::array::from_fn(|at| u64::try_from(sums[at]).unwrap_or_default());
        let usage = Usage { input, output, cached, cache_written, reasoning };
        Self { agents, open_questions, used: Tally { calls, unpriced, usage, cost: Cost::from_nanos(cost) } }
    }
}

/// The figures of a tally as a database holds them, in the order of the columns.
#[must_use]
pub fn tally_figures(Tally { calls, unpriced, usage, cost }: Tally) -> [i64; 8] {
    let Usage { input, output, cached, cache_written, reasoning } = usage;
    [calls, unpriced, input, output, cached, cache_written, reasoning, cost.nanos()]
        .map(|figure| i64::try_from(figure).unwrap_or(i64::MAX))
}
