//! Chooses the model of an agent: its own, where it has one, or the agency's.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_llm::{Deltas, GateState, Model, Profile, Reply, Request, Result};
use entourage_types::{Cost, Owner, Usage};

/// A model: by name, or your own implementation.
#[derive(Clone)]
pub enum ModelChoice {
    /// A model of a configured provider, as `provider::name`.
    Named(String),
    /// One of your own.
    Own(Arc<dyn Model>),
}

impl From<&str> for ModelChoice {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

impl From<String> for ModelChoice {
    fn from(name: String) -> Self {
        Self::Named(name)
    }
}

impl<M: Model + ?Sized> From<Arc<M>> for ModelChoice {
    fn from(model: Arc<M>) -> Self {
        Self::Own(Arc::new(model))
    }
}

/// All models of an agency behind one [`Model`]: the name in the request decides.
pub(super) struct AgencyModels {
    pub(super) default: Arc<dyn Model>,
    pub(super) own: BTreeMap<String, Arc<dyn Model>>,
}

/// The name by which requests refer to an agent's own model.
pub(super) fn own_model(agent: &str) -> String {
    format!("agent::{agent}")
}

impl AgencyModels {
    fn of(&self, model: Option<&str>) -> (&Arc<dyn Model>, bool) {
        match model.and_then(|name| self.own.get(name)) {
            Some(own) => (own, true),
            None => (&self.default, false),
        }
    }
}

#[async_trait]
impl Model for AgencyModels {
    async fn call(&self, mut request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let (model, is_own) = self.of(request.model.as_deref());
        if is_own {
            request.model = None;
        }
        model.call(request, deltas).await
    }

    fn describe(&self) -> String {
        self.default.describe()
    }

    fn disclaimer(&self) -> Option<&'static str> {
        self.default.disclaimer()
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        let (of, is_own) = self.of(model);
        of.price(model.filter(|_| !is_own), usage)
    }

    fn worst_case(&self, request: &Request) -> Usage {
        let (of, is_own) = self.of(request.model.as_deref());
        if is_own {
            of.worst_case(&Request { model: None, ..request.clone() })
        } else {
            of.worst_case(request)
        }
    }

    fn gates(&self) -> Vec<GateState> {
        self.default.gates()
    }

    fn held_back(&self, model: Option<&str>, owner: &Owner) -> Option<Duration> {
        let (of, is_own) = self.of(model);
        of.held_back(model.filter(|_| !is_own), owner)
    }

    fn check(&self, model: &str) -> Result<()> {
        if self.own.contains_key(model) { Ok(()) } else { self.default.check(model) }
    }

    fn fallback(&self) -> &[String] {
        self.default.fallback()
    }

    fn summary(&self) -> Option<&str> {
        self.default.summary()
    }

    async fn learn(&self, model: Option<&str>) {
        let (of, is_own) = self.of(model);
        of.learn(model.filter(|_| !is_own)).await;
    }

    fn profile(&self, model: Option<&str>) -> Profile {
        let (of, is_own) = self.of(model);
        of.profile(model.filter(|_| !is_own))
    }
}
