//! A model that answers when a test releases it, to catch agents in the middle of a call.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use entourage_llm::{Deltas, Model, Profile, Reply, Request, Result};
use entourage_types::{Cost, Usage};
use tokio::sync::Semaphore;

use crate::world::within;

/// A model whose calls wait until a test releases them.
#[derive(Clone)]
pub struct HeldModel {
    model: Arc<dyn Model>,
    counts: Arc<Counts>,
}

struct Counts {
    begun: Semaphore,
    let_go: Semaphore,
    cut_off: AtomicUsize,
}

/// Counts a call that was dropped before it had its answer.
struct CutOff<'a>(Option<&'a AtomicUsize>);

impl Drop for CutOff<'_> {
    fn drop(&mut self) {
        if let Some(counter) = self.0 {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl HeldModel {
    /// Wraps the model.
    pub fn new(model: impl Model) -> Self {
        let counts =
            Counts { begun: Semaphore::new(0), let_go: Semaphore::new(0), cut_off: AtomicUsize::new(0) };
        Self { model: Arc::new(model), counts: Arc::new(counts) }
    }

    /// Returns once another call has begun.
    ///
    /// # Panics
    /// If no call begins while a test may wait.
    pub async fn begun(&self) {
        // The semaphore is never closed.
        if let Ok(permit) = within("another call of the model begins", self.counts.begun.acquire()).await {
            permit.forget();
        }
    }

    /// Releases that many calls, now or when they arrive.
    pub fn let_go(&self, calls: usize) {
        self.counts.let_go.add_permits(calls);
    }

    /// How many calls were cut off before they had their answer.
    #[must_use]
    pub fn cut_off(&self) -> usize {
        self.counts.cut_off.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Model for HeldModel {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let mut cut_off = CutOff(Some(&self.counts.cut_off));
        self.counts.begun.add_permits(1);
        if let Ok(permit) = self.counts.let_go.acquire().await {
            permit.forget();
        }
        cut_off.0 = None;
        self.model.call(request, deltas).await
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        self.model.price(model, usage)
    }

    fn profile(&self, model: Option<&str>) -> Profile {
        self.model.profile(model)
    }

    fn describe(&self) -> String {
        format!("{}, held", self.model.describe())
    }
}
