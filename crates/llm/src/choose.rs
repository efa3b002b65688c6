//! Chooses the model behind the engine: the configured one, else a provider whose key is in the environment,
//! else a server whose address is set, else a server on this machine, else the rehearsal.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;

use crate::{
    Error, Local, Model, Provider, Result, Router, Settings, rehearsal, remote::without_credentials,
};

/// The environment variable that names the model, before any setting.
pub const MODEL_VARIABLE: &str = "ENTOURAGE_MODEL";

/// How long a server whose address is set may take to list its models. Such a server exists and may be busy
/// with an answer; waiting this long at the default addresses would delay every start.
const SET_WAIT: Duration = Duration::from_secs(5);

/// The chosen model, and why it was chosen.
#[derive(Clone)]
pub struct Choice {
    /// The model behind the engine.
    pub model: Arc<dyn Model>,
    /// The same model as a router, whose providers can be asked which models they offer.
    pub router: Arc<Router>,
    /// The model for requests that name none: `provider::name`, or `rehearsal`.
    pub default_model: String,
    /// A sentence on why this model was chosen.
    pub why: String,
    /// The places that were tried, in order, up to the chosen one.
    pub tried: Vec<TriedServer>,
}

/// One place that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedServer {
    /// The place's description.
    pub what: String,
    /// What was found there, or why nothing was found.
    pub found: std::result::Result<String, String>,
}

/// Chooses a model. `env` looks up an environment variable.
///
/// # Errors
/// [`Error::Configuration`] when an explicit setting cannot work: a wrong setting is reported, not skipped.
pub async fn choose(settings: Settings, env: impl Fn(&str) -> Option<String>) -> Result<Choice> {
    let (settings, mut tried) = match named(settings, env) {
        Named::Model { settings, model, why, tried } => {
            let answers = match usual_place(&settings, &model) {
                Some(place) => place.first_model(&settings).await.is_ok(),
                None => false,
            };
            let settings = if answers { at_usual_place(settings) } else { settings };
            return chosen(settings, model, why, tried);
        }
        Named::Nothing { settings, tried } => (settings, tried),
    };
    let (settings, local) = local(settings, &mut tried).await?;
    if let Some((model, why)) = local {
        return chosen(settings, model, why.to_owned(), tried);
    }
    tried.push(TriedServer { what: rehearsal::NAME.into(), found: Ok("always there".into()) });
    let why = "no key is set and no local server answers".to_owned();
    chosen(settings, rehearsal::NAME.into(), why, tried)
}

/// Chooses as [`choose`] does without asking any server; returns the rehearsal, with a remark in `why`, where
/// only a server could decide.
///
/// # Errors
/// As [`choose`], except the error for servers without a model.
pub fn choose_offline(settings: Settings, env: impl Fn(&str) -> Option<String>) -> Result<Choice> {
    match named(settings, env) {
        Named::Model { settings, model, why, tried } => {
            let is_usual = usual_place(&settings, &model).is_some();
            let settings = if is_usual { at_usual_place(settings) } else { settings };
            chosen(settings, model, why, tried)
        }
        Named::Nothing { settings, tried } => {
            let why = "stands here for the first model of a server that answers, or else for itself: no model is \
                       named, no key is set, and no server was asked";
            chosen(settings, rehearsal::NAME.into(), why.into(), tried)
        }
    }
}

/// What settings and environment decide without asking a server.
enum Named {
    /// A model that is named, or the default model of a provider whose key is set.
    Model { settings: Settings, model: String, why: String, tried: Vec<TriedServer> },
    /// Nothing: servers have to be asked.
    Nothing { settings: Settings, tried: Vec<TriedServer> },
}

fn named(settings: Settings, env: impl Fn(&str) -> Option<String>) -> Named {
    let env = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let settings = with_environment(settings, &env);
    let mut tried = Vec::new();
    if let Some((model, source)) = explicit(&settings, &env) {
        tried.push(TriedServer { what: source.to_owned(), found: Ok(model.clone()) });
        return Named::Model { settings, model, why: format!("{source} says so"), tried };
    }
    tried.push(TriedServer {
        what: format!("{MODEL_VARIABLE} and the setting `models.default`"),
        found: Err("neither is set".into()),
    });
    for provider in [Provider::Anthropic, Provider::OpenAi, Provider::OpenRouter] {
        let (Some(variable), Some(model)) = (provider.key_variable(), provider.default_model()) else {
            continue;
        };
        if settings.providers.get(&provider).is_some_and(|connection| connection.key.is_some()) {
            tried.push(TriedServer { what: variable.to_owned(), found: Ok(model.to_owned()) });
            let why = format!("there is a key for {provider}");
            return Named::Model { settings, model: model.to_owned(), why, tried };
        }
        tried.push(TriedServer { what: variable.to_owned(), found: Err("not set".into()) });
    }
    Named::Nothing { settings, tried }
}

/// Returns the default local address for a named model of an OpenAI-compatible server whose address is not
/// set: the same address that is tried when no model is named.
fn usual_place(settings: &Settings, model: &str) -> Option<LocalServer> {
    let (provider, _) = Provider::split(model).ok()?;
    let connection = settings.providers.get(&provider);
    let has_address = connection.is_some_and(|connection| connection.base_url.is_some());
    let address = settings.local.compatible.clone();
    (provider == Provider::Compatible && !has_address).then_some(LocalServer {
        provider,
        address,
        is_set: false,
    })
}

/// Returns the settings with the default local address as the server's address.
fn at_usual_place(mut settings: Settings) -> Settings {
    let address = settings.local.compatible.clone();
    settings.providers.entry(Provider::Compatible).or_default().base_url = Some(address);
    settings
}

fn chosen(settings: Settings, default: String, why: String, tried: Vec<TriedServer>) -> Result<Choice> {
    let model = Arc::new(Router::new(settings, default.clone())?);
    Ok(Choice {
        model: Arc::clone(&model) as Arc<dyn Model>,
        router: model,
        default_model: default,
        why,
        tried,
    })
}

/// Returns the model that the operator names, and where it is named.
fn explicit(settings: &Settings, env: &impl Fn(&str) -> Option<String>) -> Option<(String, &'static str)> {
    let from_settings = || settings.default.clone().map(|model| (model, "the setting `models.default`"));
    env(MODEL_VARIABLE).map(|model| (model, MODEL_VARIABLE)).or_else(from_settings)
}

/// Adds keys and addresses from the environment to the settings.
fn with_environment(mut settings: Settings, env: &impl Fn(&str) -> Option<String>) -> Settings {
    for provider in Provider::ALL {
        let key = provider.key_variable().and_then(env);
        let base_url = env(provider.base_url_variable());
        if key.is_none() && base_url.is_none() {
            continue;
        }
        let connection = settings.providers.entry(provider).or_default();
        connection.key = connection.key.take().or(key.map(Into::into));
        connection.base_url = connection.base_url.take().or(base_url);
    }
    settings
}

/// A server that needs no key, and its possible address.
struct LocalServer {
    provider: Provider,
    address: String,
    /// Whether the operator set the address, so that a server must exist there.
    is_set: bool,
}

impl LocalServer {
    /// Returns the configured addresses, or else the default local ones.
    fn all(settings: &Settings) -> Vec<Self> {
        let Local { ollama, compatible, .. } = &settings.local;
        let usual = [(Provider::Ollama, ollama), (Provider::Compatible, compatible)];
        let set = usual.iter().filter_map(|(provider, _)| {
            let address = settings.providers.get(provider)?.base_url.clone()?;
            // The scheme may be missing. An invalid address is reported by the request that uses it.
            let address = if address.contains("://") { address } else { format!("http://{address}") };
            Some(Self { provider: *provider, address, is_set: true })
        });
        let set: Vec<Self> = set.collect();
        if !set.is_empty() {
            return set;
        }
        let usual = usual.into_iter();
        usual.map(|(provider, at)| Self { provider, address: at.clone(), is_set: false }).collect()
    }

    /// Describes the place, without the credentials in its address.
    fn what(&self) -> String {
        let name = match self.provider {
            Provider::Compatible if self.is_set => "the OpenAI-compatible server",
            Provider::Compatible => "llama.cpp or alike",
            _ => "Ollama",
        };
        format!("{name} at {}", without_credentials(&self.address).trim_end_matches('/'))
    }

    /// Returns why a model of this place is chosen.
    const fn why(&self) -> &'static str {
        match self.is_set {
            true => "no key is set, and the server whose address is set answers",
            false => "no key is set, and a server on this machine answers",
        }
    }

    /// Returns the first model that the server lists, or why there is none.
    async fn first_model(&self, settings: &Settings) -> std::result::Result<String, String> {
        let mut settings = settings.clone();
        settings.providers.entry(self.provider).or_default().base_url = Some(self.address.clone());
        let patience = match self.is_set {
            true => SET_WAIT.max(Duration::from_millis(settings.local.wait_ms)),
            false => Duration::from_millis(settings.local.wait_ms),
        };
        // Errors in other models are not this server's fault, and are reported where those models are chosen.
        (settings.fallback, settings.summary) = (Vec::new(), None);
        let router = Router::new(settings, rehearsal::NAME).map_err(|error| error.to_string())?;
        match router.offered(self.provider, patience).await {
            Ok(Some(names)) => match names.into_iter().next() {
                Some(name) => Ok(format!("{}::{name}", self.provider)),
                None => Err("answers, but has no model yet".to_owned()),
            },
            Ok(None) => Err("answers, but has no list of models there".to_owned()),
            Err(Error::Unreachable { .. }) => Err("nothing answers there".to_owned()),
            Err(Error::TimedOut { .. }) => Err(format!("no answer within {} ms", patience.as_millis())),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Looks for a server that needs no key, at all places concurrently. Returns the settings with its address,
/// the model, and why it is chosen.
///
/// # Errors
/// [`Error::Configuration`] when addresses are set and none leads to a model: an answer of the rehearsal
/// would hide that the server is busy, gone, or elsewhere.
async fn local(
    mut settings: Settings,
    tried: &mut Vec<TriedServer>,
) -> Result<(Settings, Option<(String, &'static str)>)> {
    let places = LocalServer::all(&settings);
    let answers = join_all(places.iter().map(|place| place.first_model(&settings))).await;
    let mut wrong = Vec::new();
    for (place, found) in places.into_iter().zip(answers) {
        tried.push(TriedServer { what: place.what(), found: found.clone() });
        match found {
            Ok(model) => {
                let why = place.why();
                settings.providers.entry(place.provider).or_default().base_url = Some(place.address);
                return Ok((settings, Some((model, why))));
            }
            Err(why) if place.is_set => wrong.push((place, why)),
            Err(_) => {}
        }
    }
    if wrong.is_empty() {
        return Ok((settings, None));
    }
    let found = wrong.iter().map(|(place, why)| format!("{}: {why}", place.what()));
    let set = wrong.iter().map(|(place, _)| {
        let provider = place.provider;
        format!("`models.providers.{provider}.base_url` ({})", provider.base_url_variable())
    });
    Err(Error::Configuration(format!(
        "no model answers where one is set. {}. Have that server answer (`models.local.wait_ms` is how long it \
         may take), mend {}, or name a model with {MODEL_VARIABLE}, which is not asked for at the start: \
         `provider::name`, or `rehearsal`",
        found.collect::<Vec<_>>().join("; "),
        set.collect::<Vec<_>>().join(" and "),
    )))
}

impl std::fmt::Debug for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Choice")
            .field("model", &self.model.describe())
            .field("default_model", &self.default_model)
            .field("why", &self.why)
            .field("tried", &self.tried)
            .finish()
    }
}
