//! Receipts: which commits happened, so that one that is repeated under its id happens once. They are kept for an hour.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use deadpool_postgres::Pool;

use crate::{fault::Result, statement::Statement};

/// How often a handle that commits removes old receipts.
const EVERY: Duration = Duration::from_secs(300);

/// When this handle removed old receipts last.
#[derive(Debug, Default)]
pub(crate) struct Receipts(Mutex<Option<Instant>>);

impl Receipts {
    /// Called after each commit: now and then removes old receipts, while nobody waits for that.
    pub(crate) fn commit(&self, pool: &Pool) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < EVERY) {
            return;
        }
        *last = Some(Instant::now());
        drop(last);
        let pool = pool.clone();
        drop(tokio::spawn(async move {
            if let Err(fault) = remove(&pool).await {
                tracing::debug!(?fault, "old receipts of commits were not removed");
            }
        }));
    }
}

/// Removes what is older than an hour, and what another handle does not remove already.
async fn remove(pool: &Pool) -> Result<()> {
    let client = pool.get().await?;
    let old = "DELETE FROM receipts WHERE id IN (SELECT id FROM receipts WHERE at < now() - interval '1 hour' \
               FOR UPDATE SKIP LOCKED)";
    Statement::whole(old).run(&client).await.map(drop)
}
