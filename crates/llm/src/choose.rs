//! Which model stands behind the house: what is set, else a key in the environment, else a server
//! on this machine, else the rehearsal.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use crate::{Error, Local, Model, Provider, Result, Router, Settings, http, rehearsal};

/// The environment variable that names the model, before any setting.
pub const MODEL_VARIABLE: &str = "ENTOURAGE_MODEL";

/// What was chosen, and why.
#[derive(Clone)]
pub struct Choice {
    /// The model behind the house.
    pub model: Arc<dyn Model>,
    /// The same, with the providers that can be asked what they offer.
    pub router: Arc<Router>,
    /// The name for requests that give none: `provider::name`, or `rehearsal`.
    pub default_model: String,
    /// A sentence on why it is this one.
    pub why: String,
    /// What was looked at, in order, up to what was taken.
    pub tried: Vec<Tried>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// What.
    pub what: String,
    /// What was found there, or why nothing was.
    pub found: std::result::Result<String, String>,
}

/// Chooses a model. `env` looks up an environment variable.
///
/// # Errors
/// [`Error::Configuration`] when what is set explicitly cannot work: a wrong setting is said, not
/// passed over.
pub async fn choose(settings: Settings, env: impl Fn(&str) -> Option<String>) -> Result<Choice> {
    let env = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let settings = with_environment(settings, &env);
    let mut tried = Vec::new();
    if let Some((model, source)) = explicit(&settings, &env) {
        tried.push(Tried { what: source.to_owned(), found: Ok(model.clone()) });
        return chosen(settings, model, format!("{source} says so"), tried);
    }
    tried.push(Tried {
        what: format!("{MODEL_VARIABLE} and the setting `models.default`"),
        found: Err("neither is set".into()),
    });
    for provider in [Provider::Anthropic, Provider::OpenAi, Provider::OpenRouter] {
        let (Some(variable), Some(model)) = (provider.key_variable(), provider.default_model()) else {
            continue;
        };
        if settings.providers.get(&provider).is_some_and(|connection| connection.key.is_some()) {
            tried.push(Tried { what: variable.to_owned(), found: Ok(model.to_owned()) });
            return chosen(settings, model.to_owned(), format!("there is a key for {provider}"), tried);
        }
        tried.push(Tried { what: variable.to_owned(), found: Err("not set".into()) });
    }
    let (settings, local) = local(settings, &mut tried).await;
    if let Some(model) = local {
        let why = "no key is set, and a server on this machine answers".to_owned();
        return chosen(settings, model, why, tried);
    }
    tried.push(Tried { what: rehearsal::NAME.into(), found: Ok("always there".into()) });
    let why = "no key is set and no local server answers".to_owned();
    chosen(settings, rehearsal::NAME.into(), why, tried)
}

fn chosen(settings: Settings, default: String, why: String, tried: Vec<Tried>) -> Result<Choice> {
    let model = Arc::new(Router::new(settings, default.clone())?);
    Ok(Choice {
        model: Arc::clone(&model) as Arc<dyn Model>,
        router: model,
        default_model: default,
        why,
        tried,
    })
}

/// What the operator names, and where.
fn explicit(settings: &Settings, env: &impl Fn(&str) -> Option<String>) -> Option<(String, &'static str)> {
    let from_settings = || settings.default.clone().map(|model| (model, "the setting `models.default`"));
    env(MODEL_VARIABLE).map(|model| (model, MODEL_VARIABLE)).or_else(from_settings)
}

/// The settings with what the environment adds to them.
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

/// Looks for a server on this machine, at both places at once.
async fn local(mut settings: Settings, tried: &mut Vec<Tried>) -> (Settings, Option<String>) {
    let set = |provider: Provider| settings.providers.get(&provider).and_then(|c| c.base_url.clone());
    let Local { ollama, compatible, wait_ms } = settings.local.clone();
    let ollama = set(Provider::Ollama).unwrap_or(ollama);
    let compatible = set(Provider::Compatible).unwrap_or(compatible);
    let root = |address: &str| address.trim_end_matches('/').trim_end_matches("/v1").to_owned();
    let (ollama_root, compatible_root) = (root(&ollama), root(&compatible));
    let (ollama_model, compatible_model) = tokio::join!(
        first_model(format!("{ollama_root}/api/tags"), "/models/0/name", wait_ms),
        first_model(format!("{compatible_root}/v1/models"), "/data/0/id", wait_ms),
    );
    let found = [
        (Provider::Ollama, ollama, format!("Ollama at {ollama_root}"), ollama_model),
        (
            Provider::Compatible,
            compatible,
            format!("llama.cpp or alike at {compatible_root}"),
            compatible_model,
        ),
    ];
    for (provider, address, what, model) in found {
        let found = model.map(|name| format!("{provider}::{name}"));
        tried.push(Tried { what, found: found.clone() });
        if let Ok(model) = found {
            settings.providers.entry(provider).or_default().base_url = Some(address);
            return (settings, Some(model));
        }
    }
    (settings, None)
}

/// The first model that a server lists.
async fn first_model(url: String, path: &str, wait_ms: u64) -> std::result::Result<String, String> {
    let ask = async {
        // None of these addresses needs TLS, and making a client without it takes no time.
        let client = http::client("").map_err(|error: Error| error.to_string())?;
        let response = client.get(&url).send().await.map_err(|_| "nothing answers there".to_owned())?;
        if !response.status().is_success() {
            return Err(format!("answers HTTP {}", response.status().as_u16()));
        }
        let body = http::json(response).await.ok_or_else(|| "does not answer with JSON".to_owned())?;
        let name = body.pointer(path).and_then(Value::as_str);
        name.map(str::to_owned).ok_or_else(|| "answers, but has no model yet".to_owned())
    };
    let late = |_| Err(format!("no answer within {wait_ms} ms"));
    tokio::time::timeout(Duration::from_millis(wait_ms), ask).await.unwrap_or_else(late)
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
