//! A model behind gates, one gate for each model name.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use entourage_types::{Cost, Owner, Usage};

use super::{Gate, GateState, Permit};
use crate::{Connection, Delta, Deltas, Model, Reply, Request, Result};

/// The name of the gate before a model that a request does not name.
const UNNAMED: &str = "default";

/// The gates of one account: one before each of its models, shared by all protocols that reach the model.
#[derive(Debug)]
pub struct Gates {
    connection: Connection,
    /// Whether gates start with as many concurrent requests as there are places.
    open: bool,
    gates: Mutex<HashMap<String, Arc<Gate>>>,
}

impl Gates {
    /// Creates gates with the connection's concurrency and rate limits. If either is set, or the server is
    /// the operator's own and has no other limit, the gates start open; others find out how much the provider
    /// accepts.
    #[must_use]
    pub fn new(connection: Connection, is_own_server: bool) -> Self {
        let open =
            is_own_server || connection.concurrency.is_some() || connection.requests_per_minute.is_some();
        Self { connection, open, gates: Mutex::default() }
    }

    /// Returns the gate before a model. Only the name without the provider counts: the account is the same
    /// over every protocol.
    fn before(&self, model: &str) -> Arc<Gate> {
        let name = model.split_once("::").map_or(model, |(_, name)| name);
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(name) {
            return Arc::clone(gate);
        }
        let gate = Arc::new(Gate::new(model.to_owned(), &self.connection, self.open));
        gates.insert(name.to_owned(), Arc::clone(&gate));
        gate
    }

    /// Returns for how long the gate before a model holds back this owner's calls; none if it lets them through.
    pub(crate) fn held_back(&self, model: &str, owner: &Owner) -> Option<Duration> {
        let name = model.split_once("::").map_or(model, |(_, name)| name);
        let gate = self.gates.lock().unwrap_or_else(PoisonError::into_inner).get(name).map(Arc::clone)?;
        gate.held_back(owner)
    }

    /// Returns the state of each gate, sorted by model name.
    #[must_use]
    pub fn states(&self) -> Vec<GateState> {
        let gates: Vec<_> =
            self.gates.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let mut states: Vec<_> = gates.iter().map(|gate| gate.state()).collect();
        states.sort_by(|a, b| a.model.cmp(&b.model));
        states
    }
}

/// A provider behind the gates of its account.
#[derive(Debug)]
pub struct Gated<M> {
    inner: M,
    gates: Arc<Gates>,
}

impl<M> Gated<M> {
    /// Puts a provider behind gates of its own, with its connection's concurrency and rate limits.
    #[must_use]
    pub fn new(inner: M, connection: Connection) -> Self {
        Self::behind(inner, Arc::new(Gates::new(connection, false)))
    }

    /// Puts a provider behind these gates, which other providers of the same account may share.
    #[must_use]
    pub fn behind(inner: M, gates: Arc<Gates>) -> Self {
        Self { inner, gates }
    }

    /// Returns the model behind the gates.
    pub(crate) fn inner(&self) -> &M {
        &self.inner
    }
}

#[async_trait]
impl<M: Model> Model for Gated<M> {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let gate = self.gates.before(request.model.as_deref().unwrap_or(UNNAMED));
        deltas.delta(Delta::Queued);
        let mut pass = gate.enter(request.priority, request.owner.clone()).await?;
        deltas.delta(Delta::Sent);
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

    fn worst_case(&self, request: &Request) -> Usage {
        self.inner.worst_case(request)
    }

    fn gates(&self) -> Vec<GateState> {
        self.gates.states()
    }

    fn held_back(&self, model: Option<&str>, owner: &Owner) -> Option<Duration> {
        self.gates.held_back(model.unwrap_or(UNNAMED), owner)
    }

    fn fallback(&self) -> &[String] {
        self.inner.fallback()
    }
}

/// Deltas that also inform the gate: any delta means that the provider has accepted the request.
struct Watched<'a, 'g> {
    deltas: &'a mut dyn Deltas,
    pass: &'a mut Permit<'g>,
}

impl Deltas for Watched<'_, '_> {
    fn delta(&mut self, delta: Delta) {
        self.pass.accepted();
        if let Delta::RequestsRemaining(requests) = delta {
            self.pass.allowed(requests);
        }
        self.deltas.delta(delta);
    }
}
