//! Reproducible randomness: all of it follows from one seed.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Dice of one seed. Clones are the same dice.
#[derive(Debug, Clone)]
pub(crate) struct Dice(Arc<AtomicU64>);

impl Dice {
    /// The dice of this seed.
    #[must_use]
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed)))
    }

    /// The next number; all are equally likely. SplitMix64.
    #[must_use]
    pub(crate) fn roll(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    #[must_use]
    pub(crate) fn below(&self, end: usize) -> usize {
        // The bias of the modulo is negligible here.
        usize::try_from(self.roll() % end as u64).unwrap_or_default()
    }

    /// Returns true with this probability, in percent.
    #[must_use]
    pub(crate) fn chance(&self, of_hundred: usize) -> bool {
        self.below(100) < of_hundred
    }

    /// One of these; none if the list is empty.
    #[must_use]
    pub(crate) fn pick<'a, T>(&self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { of.get(self.below(of.len())) }
    }

    /// Lets other tasks run first, a few times or not at all.
    pub(crate) async fn linger(&self) {
        for _ in 0..self.below(4) {
            tokio::task::yield_now().await;
        }
    }
}
