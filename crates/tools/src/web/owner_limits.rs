//! Limits one owner's concurrent use of the shared resources for pages: the memory for bodies, and the cores
//! that convert them. One owner leaves a slot to others.

use std::{
    collections::HashMap,
    num::NonZero,
    sync::{Arc, Mutex, PoisonError, Weak},
    thread::available_parallelism,
};

use entourage_types::Owner;
use tokio::sync::Semaphore;

/// How many pages of one owner are fetched at once: each body stays in memory until it is converted.
const FETCHED_AT_ONCE: usize = 16;

/// Returns how many pages are converted at once.
pub(super) fn cores() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// One owner's limits.
pub(super) struct OwnerLimit {
    /// For pages that are being fetched.
    pub(super) fetched: Arc<Semaphore>,
    /// For pages that are being converted: all slots but one, if there are several.
    pub(super) read: Arc<Semaphore>,
}

/// The shares of the owners with fetches in progress.
#[derive(Default)]
pub(super) struct OwnerLimits(Mutex<HashMap<Owner, Weak<OwnerLimit>>>);

impl OwnerLimits {
    /// Returns an owner's share.
    pub(super) fn of(&self, owner: &Owner) -> Arc<OwnerLimit> {
        let mut shares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(owner).and_then(Weak::upgrade) {
            return share;
        }
        shares.retain(|_, share| share.strong_count() > 0);
        let read = Arc::new(Semaphore::new((cores() - 1).max(1)));
        let share = Arc::new(OwnerLimit { fetched: Arc::new(Semaphore::new(FETCHED_AT_ONCE)), read });
        shares.insert(owner.clone(), Arc::downgrade(&share));
        share
    }
}
