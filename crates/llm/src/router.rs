//! Routes requests to the configured providers by the model's name.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use async_trait::async_trait;
use entourage_types::{Cost, Owner, Usage};
use tokio::time::Instant;

use crate::{
    Connection, Deltas, Error, GateState, Gated, Gates, KnownFrom, Model, NextAction, Prices, Profile,
    ProfileSettings, Provider, ProviderModel, Rehearsal, Reply, Request, Result, Settings, rehearsal,
};

/// How long to wait before asking a server again that did not report a model's window.
const ASKED_AGAIN: Duration = Duration::from_secs(30);

/// Checks that a name is that of a known provider's model, or of the rehearsal.
///
/// # Errors
/// [`Error::Configuration`] when it is neither; does not check whether the provider has the model.
pub fn check_name(model: &str) -> Result<()> {
    if rehearsal::is(model) { Ok(()) } else { Provider::split(model).map(drop) }
}

/// A model that routes requests to all configured providers.
pub struct Router {
    default: String,
    fallback: Vec<String>,
    prices: Arc<Prices>,
    summary: Option<String>,
    lanes: BTreeMap<Provider, Lane>,
    profiles: BTreeMap<String, ProfileSettings>,
    /// What is known about each model that was used.
    known: RwLock<HashMap<String, Profile>>,
    /// When each model's server was last asked about it.
    asked: RwLock<HashMap<String, Instant>>,
}

/// One provider; both forms share its gates, as do providers with the same account.
struct Lane {
    native: Arc<Gated<ProviderModel>>,
    weak: NextAction<Arc<Gated<ProviderModel>>>,
    gates: Arc<Gates>,
}

impl Router {
    /// Creates a router over the providers that are usable with these settings. Requests that name no model
    /// go to `default`.
    ///
    /// # Errors
    /// [`Error::Configuration`] when the default's provider is unknown or not configured, or an address is
    /// invalid.
    pub fn new(settings: Settings, default: impl Into<String>) -> Result<Self> {
        let default = default.into();
        let fallback = settings.fallback;
        let summary = settings.summary;
        for model in fallback.iter().chain(&summary) {
            Provider::split(model)?;
        }
        let prices = Arc::new(Prices::new(settings.prices));
        let mut connections = settings.providers;
        // Ollama is one machine, and concurrent requests slow each other down.
        connections.entry(Provider::Ollama).or_default().concurrency.get_or_insert(10);
        // The two protocols of OpenAI share their key and address.
        for (one, other) in
            [(Provider::OpenAi, Provider::OpenAiResp), (Provider::OpenAiResp, Provider::OpenAi)]
        {
            if let Some(set) = connections.get(&one).cloned() {
                let shares = connections.entry(other).or_insert_with(|| set.clone());
                shares.key = shares.key.take().or(set.key);
                shares.base_url = shares.base_url.take().or(set.base_url);
            }
        }
        let wanted = if rehearsal::is(&default) { None } else { Some(Provider::split(&default)?.0) };
        if let Some(provider) = wanted {
            connections.entry(provider).or_default();
        }
        let mut lanes: BTreeMap<Provider, Lane> = BTreeMap::new();
        for (provider, connection) in connections {
            let usable = connection.key.is_some() || provider.key_variable().is_none();
            // A provider that may never be used needs no key; the default's provider reports a missing one.
            if usable || wanted == Some(provider) {
                let lane = Lane::new(provider, connection, &prices, lanes.values())?;
                lanes.insert(provider, lane);
            }
        }
        let profiles = settings.profiles;
        let (known, asked) = (RwLock::default(), RwLock::default());
        Ok(Self { default, fallback, summary, prices, lanes, profiles, known, asked })
    }

    /// Returns the usable providers.
    pub fn providers(&self) -> impl Iterator<Item = Provider> + '_ {
        self.lanes.keys().copied()
    }

    /// Returns the models that a provider offers; see [`ProviderModel::offered`].
    ///
    /// # Errors
    /// As for a call, and [`Error::Configuration`] for a provider that is not configured.
    pub async fn offered(&self, provider: Provider, limit: Duration) -> Result<Option<Vec<String>>> {
        let lane = self.lanes.get(&provider);
        let lane = lane.ok_or_else(|| Error::Configuration(format!("{provider} is not configured")))?;
        lane.native.inner().offered(limit).await
    }

    fn lane(&self, model: &str) -> Result<&Lane> {
        let (provider, _) = Provider::split(model)?;
        self.lanes.get(&provider).ok_or_else(|| {
            let next = match provider.key_variable() {
                Some(variable) => {
                    format!("set {variable}, or `models.providers.{provider}.key` in the settings")
                }
                None => format!("set `models.providers.{provider}.base_url` in the settings"),
            };
            Error::Configuration(format!("`{model}` is asked for, but {provider} is not configured: {next}"))
        })
    }
}

impl Lane {
    fn new<'a>(
        provider: Provider,
        connection: Connection,
        prices: &Arc<Prices>,
        mut others: impl Iterator<Item = &'a Self>,
    ) -> Result<Self> {
        let model = ProviderModel::new(provider, connection.clone(), Arc::clone(prices))?;
        let shared = others.find(|other| other.native.inner().shares_account(&model));
        let gates = match shared {
            Some(other) => Arc::clone(&other.gates),
            None => Arc::new(Gates::new(connection, provider == Provider::Compatible)),
        };
        let native = Arc::new(Gated::behind(model, Arc::clone(&gates)));
        Ok(Self { weak: NextAction::new(Arc::clone(&native)), native, gates })
    }
}

#[async_trait]
impl Model for Router {
    async fn call(&self, mut request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let model = request.model.get_or_insert_with(|| self.default.clone());
        if rehearsal::is(model) {
            return Rehearsal.call(request, deltas).await;
        }
        let lane = self.lane(model)?;
        let native = self.profile(Some(model)).native_tools;
        if native { lane.native.call(request, deltas).await } else { lane.weak.call(request, deltas).await }
    }

    fn check(&self, model: &str) -> Result<()> {
        if rehearsal::is(model) { Ok(()) } else { self.lane(model).map(drop) }
    }

    fn describe(&self) -> String {
        match self.lane(&self.default) {
            Ok(lane) => format!("{} ({})", self.default, lane.native.describe()),
            Err(_) => Rehearsal.describe(),
        }
    }

    fn disclaimer(&self) -> Option<&'static str> {
        if rehearsal::is(&self.default) { Rehearsal.disclaimer() } else { None }
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        let model = model.unwrap_or(&self.default);
        if rehearsal::is(model) { Rehearsal.price(None, usage) } else { self.prices.cost(model, usage) }
    }

    fn worst_case(&self, request: &Request) -> Usage {
        let model = request.model.as_deref().unwrap_or(&self.default);
        let Ok(lane) = self.lane(model) else { return request.worst_case() };
        let native = self.profile(Some(model)).native_tools;
        if native { lane.native.worst_case(request) } else { lane.weak.worst_case(request) }
    }

    fn gates(&self) -> Vec<GateState> {
        let mut all: Vec<&Arc<Gates>> = Vec::new();
        for lane in self.lanes.values() {
            if !all.iter().any(|gates| Arc::ptr_eq(gates, &lane.gates)) {
                all.push(&lane.gates);
            }
        }
        all.iter().flat_map(|gates| gates.states()).collect()
    }

    fn held_back(&self, model: Option<&str>, owner: &Owner) -> Option<Duration> {
        let model = model.unwrap_or(&self.default);
        self.lane(model).ok()?.gates.held_back(model, owner)
    }

    fn fallback(&self) -> &[String] {
        &self.fallback
    }

    fn summary(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    async fn learn(&self, model: Option<&str>) {
        let model = model.unwrap_or(&self.default);
        let profile = self.profile(Some(model));
        let Ok((Provider::Ollama | Provider::Compatible, name)) = Provider::split(model) else { return };
        let Ok(lane) = self.lane(model) else { return };
        if profile.window_from != KnownFrom::Nowhere {
            return;
        }
        let recently = |at: &Instant| at.elapsed() < ASKED_AGAIN;
        if self.asked.read().unwrap_or_else(PoisonError::into_inner).get(model).is_some_and(recently) {
            return;
        }
        // Before the server answers: of many agents that begin at once, one asks.
        self.asked.write().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned(), Instant::now());
        let window = lane.native.inner().window(name).await;
        if let Some(window) = window {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.insert(model.to_owned(), profile.served(window));
        }
    }

    fn profile(&self, model: Option<&str>) -> Profile {
        let model = model.unwrap_or(&self.default);
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(model) {
            return *known;
        }
        let profile = Profile::of(model);
        let profile = self.profiles.get(model).map_or(profile, |settings| profile.with(settings));
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned(), profile);
        profile
    }
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Router")
            .field("default", &self.default)
            .field("providers", &self.lanes.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
