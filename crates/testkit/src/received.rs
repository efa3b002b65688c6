//! What models have received, so that a request that is rebuilt can be compared with it.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use entourage_llm::{Deltas, GateState, Model, Priority, Profile, Reply, Request, Result};
use entourage_types::{Cost, Owner, Usage};

/// What the models of all worlds of this process have received: a test may open a database in another world.
static RECEIVED: Mutex<Option<HashSet<u64>>> = Mutex::new(None);

/// A request as a provider sees it: who goes first and on whose account stays with the engine.
fn digest(request: &Request) -> u64 {
    let sent = Request { priority: Priority::default(), owner: None, ..request.clone() };
    let mut hasher = DefaultHasher::new();
    format!("{sent:?}").hash(&mut hasher);
    hasher.finish()
}

/// Whether a model of a world has received exactly this request.
pub(crate) fn was_received(request: &Request) -> bool {
    let received = RECEIVED.lock().unwrap_or_else(PoisonError::into_inner);
    received.as_ref().is_some_and(|received| received.contains(&digest(request)))
}

/// A model that remembers what it has received.
pub(crate) struct Remembers(pub(crate) Arc<dyn Model>);

#[async_trait]
impl Model for Remembers {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let digest = digest(&request);
        RECEIVED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(digest);
        self.0.call(request, deltas).await
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn disclaimer(&self) -> Option<&'static str> {
        self.0.disclaimer()
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        self.0.price(model, usage)
    }

    fn requests_per_call(&self, model: Option<&str>) -> u32 {
        self.0.requests_per_call(model)
    }

    fn gates(&self) -> Vec<GateState> {
        self.0.gates()
    }

    fn held_back(&self, model: Option<&str>, owner: &Owner) -> Option<Duration> {
        self.0.held_back(model, owner)
    }

    fn check(&self, model: &str) -> Result<()> {
        self.0.check(model)
    }

    fn fallback(&self) -> &[String] {
        self.0.fallback()
    }

    fn summary(&self) -> Option<&str> {
        self.0.summary()
    }

    async fn learn(&self, model: Option<&str>) {
        self.0.learn(model).await;
    }

    fn profile(&self, model: Option<&str>) -> Profile {
        self.0.profile(model)
    }
}
