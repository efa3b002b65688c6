//! One gate per provider: a fan-out waits here instead of running into the provider's limits.

use async_trait::async_trait;
use tokio::sync::Semaphore;

use crate::{Deltas, Error, Model, Reply, Request, Result};

/// Lets so many calls through at once; the others wait in the order they came.
#[derive(Debug)]
pub struct Gate<M> {
    inner: M,
    places: Semaphore,
}

impl<M> Gate<M> {
    /// A gate with so many places; at least one.
    #[must_use]
    pub fn new(inner: M, places: usize) -> Self {
        Self { inner, places: Semaphore::new(places.clamp(1, Semaphore::MAX_PERMITS)) }
    }
}

#[async_trait]
impl<M: Model> Model for Gate<M> {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        // Held until the answer is in; a caller that is dropped gives its place back.
        let _place = self
            .places
            .acquire()
            .await
            .map_err(|_| Error::Configuration("the gate to the provider is closed".into()))?;
        self.inner.call(request, deltas).await
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn disclaimer(&self) -> Option<&'static str> {
        self.inner.disclaimer()
    }
}
