//! What models have received, so that a request that is rebuilt can be compared with it.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use entourage_llm::{Deltas, GateState, Model, Priority, Profile, Reply, Request, Result};
use entourage_types::{Cost, Owner, Usage};

/// What the model of a world has received, in all processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received(Arc<Mutex<HashSet<u64>>>);

impl Received {
    fn digests(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has received exactly this request.
    pub(crate) fn has(&self, request: &Request) -> bool {
        self.digests().contains(&digest(request))
    }
}

/// A request as a provider sees it: who goes first and on whose account stays with the engine.
fn digest(request: &Request) -> u64 {
    let sent = Request { priority: Priority::default(), owner: None, ..request.clone() };
    let mut hasher = DefaultHasher::new();
    format!("{sent:?}").hash(&mut hasher);
    hasher.finish()
}

/// A model that remembers what it has received.
pub(crate) struct Remembers {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) received: Received,
}

#[async_trait]
impl Model for Remembers {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let digest = digest(&request);
        self.received.digests().insert(digest);
        self.model.call(request, deltas).await
    }

    fn describe(&self) -> String {
        self.model.describe()
    }

    fn disclaimer(&self) -> Option<&'static str> {
        self.model.disclaimer()
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        self.model.price(model, usage)
    }

    fn worst_case(&self, request: &Request) -> Usage {
        self.model.worst_case(request)
    }

    fn gates(&self) -> Vec<GateState> {
        self.model.gates()
    }

    fn held_back(&self, model: Option<&str>, owner: &Owner) -> Option<Duration> {
        self.model.held_back(model, owner)
    }

    fn check(&self, model: &str) -> Result<()> {
        self.model.check(model)
    }

    fn fallback(&self) -> &[String] {
        self.model.fallback()
    }

    fn summary(&self) -> Option<&str> {
        self.model.summary()
    }

    async fn learn(&self, model: Option<&str>) {
        self.model.learn(model).await;
    }

    fn profile(&self, model: Option<&str>) -> Profile {
        self.model.profile(model)
    }
}
