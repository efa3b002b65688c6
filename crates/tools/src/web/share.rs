//! What one owner may have at once of what all pages need: the memory for bodies, and the cores that make them
//! readable. One owner leaves a place to another.

use std::{
    collections::HashMap,
    num::NonZero,
    sync::{Arc, Mutex, PoisonError, Weak},
    thread::available_parallelism,
};

use entourage_types::Owner;
use tokio::sync::Semaphore;

/// So many pages of one owner are fetched at once: the body of each is held until it was made readable.
const FETCHED_AT_ONCE: usize = 16;

/// As many pages are made readable at once.
pub(super) fn cores() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// What one owner may have at once.
pub(super) struct Share {
    /// Of pages that are being fetched.
    pub(super) fetched: Arc<Semaphore>,
    /// Of those that are being made readable: all places but one, where there are several.
    pub(super) read: Arc<Semaphore>,
}

/// The shares of those owners who fetch something now.
#[derive(Default)]
pub(super) struct Shares(Mutex<HashMap<Owner, Weak<Share>>>);

impl Shares {
    /// The share of an owner.
    pub(super) fn of(&self, owner: &Owner) -> Arc<Share> {
        let mut shares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(owner).and_then(Weak::upgrade) {
            return share;
        }
        shares.retain(|_, share| share.strong_count() > 0);
        let read = Arc::new(Semaphore::new((cores() - 1).max(1)));
        let share = Arc::new(Share { fetched: Arc::new(Semaphore::new(FETCHED_AT_ONCE)), read });
        shares.insert(owner.clone(), Arc::downgrade(&share));
        share
    }
}
