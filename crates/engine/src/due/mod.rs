//! Rows of the store that are due for work: one worker for all that is done row by row beside the agents, such
//! as deliveries to receivers and saves of threads. What it holds in memory can be read again from the store.

mod queue;
mod worker;

use std::{error::Error, fmt::Debug, hash::Hash, time::Duration};

use async_trait::async_trait;
use entourage_types::{Backoff, Time};
use tokio::sync::broadcast;

pub(crate) use worker::{work, work_off};

/// Why work failed; it is logged and tried again.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// A sort of rows, and what is to be done about each.
#[async_trait]
pub(crate) trait DueRows: Send + Sync + 'static {
    /// What one piece of work is about. There is one at a time for a key.
    type Key: Clone + Debug + Eq + Hash + Ord + Send + 'static;
    /// What shares places: a full lane holds up no other.
    type Lane: Clone + Eq + Hash + Ord + Send;
    /// What tells of new rows.
    type Hint: Clone + Send + 'static;

    /// The most pieces of work of one lane in progress at once.
    const PLACES: usize;
    /// How far ahead keys are held in memory, and how often the store is read without a hint.
    const HORIZON: Duration;
    /// Between attempts at a key whose work fails, and at reading the store.
    const FAILING: Backoff;

    fn lane(key: &Self::Key) -> Self::Lane;

    /// Subscribes to hints.
    fn hints(&self) -> broadcast::Receiver<Self::Hint>;

    /// What a hint says is due, and when.
    fn hinted(&self, hint: &Self::Hint, now: Time) -> Vec<(Self::Key, Time)>;

    /// Reads what is due up to a time.
    async fn due(&self, until: Time) -> Result<Vec<(Self::Key, Time)>, Cause>;

    /// Does the work. Returns when the key is due again, if it is.
    async fn work(&self, key: &Self::Key) -> Result<Option<Time>, Cause>;
}
