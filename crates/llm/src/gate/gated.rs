//! A model behind gates, one for each name it is asked by.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use entourage_types::{Cost, Usage};

use super::{Gate, GateState, Pass};
use crate::{Connection, Delta, Deltas, Model, Reply, Request, Result};

/// A provider behind its gates: one for each of its models.
#[derive(Debug)]
pub struct Gated<M> {
    inner: M,
    connection: Connection,
    gates: Mutex<HashMap<String, Arc<Gate>>>,
}

impl<M> Gated<M> {
    /// A provider behind gates with the concurrency and the rate that its connection sets.
    #[must_use]
    pub fn new(inner: M, connection: Connection) -> Self {
        Self { inner, connection, gates: Mutex::default() }
    }

    /// The provider itself, past the gates.
    pub(crate) fn inner(&self) -> &M {
        &self.inner
    }

    fn gate(&self, model: &str) -> Arc<Gate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(model) {
            return Arc::clone(gate);
        }
        let gate = Arc::new(Gate::new(model.to_owned(), &self.connection));
        gates.insert(model.to_owned(), Arc::clone(&gate));
        gate
    }
}

#[async_trait]
impl<M: Model> Model for Gated<M> {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let gate = self.gate(request.model.as_deref().unwrap_or("default"));
        let mut pass = gate.enter(request.priority).await?;
        let result = self.inner.call(request, &mut Watched { deltas, pass: &mut pass }).await;
        pass.ended(&result);
        result
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn disclaimer(&self) -> Option<&'static str> {
        self.inner.disclaimer()
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        self.inner.price(model, usage)
    }

    fn gates(&self) -> Vec<GateState> {
        let gates: Vec<_> =
            self.gates.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let mut states: Vec<_> = gates.iter().map(|gate| gate.state()).collect();
        states.sort_by(|a, b| a.model.cmp(&b.model));
        states
    }

    fn fallback(&self) -> &[String] {
        self.inner.fallback()
    }
}

/// Whatever comes says that the request was taken.
struct Watched<'a, 'g> {
    deltas: &'a mut dyn Deltas,
    pass: &'a mut Pass<'g>,
}

impl Deltas for Watched<'_, '_> {
    fn delta(&mut self, delta: Delta) {
        self.pass.accepted();
        self.deltas.delta(delta);
    }
}
