//! One provider behind [`Model`], spoken to through the `genai` crate.
//!
//! `genai` knows the wires; this adapter makes its answers mean one thing. What it corrects, and
//! why, stands where it is corrected: [`outgoing`] for requests, [`incoming`] for answers,
//! [`failure`] for errors.

mod failure;
mod incoming;
mod outgoing;

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use futures::StreamExt;
use genai::{
    Client, ModelIden, ServiceTarget,
    adapter::AdapterKind,
    resolver::{AuthData, Endpoint},
};
use secrecy::ExposeSecret;

use crate::{Connection, Deltas, Error, Model, Prices, Provider, Reply, Request, Result, http};
use failure::Failure;
use incoming::Answer;

/// One provider.
pub struct GenaiModel {
    provider: Provider,
    base_url: String,
    connection: Connection,
    prices: Arc<Prices>,
    client: OnceLock<Client>,
}

impl GenaiModel {
    /// A provider by its settings; no connection is made before the first call.
    ///
    /// # Errors
    /// [`Error::Configuration`] when its key or address is missing, or the address is no URL.
    pub fn new(provider: Provider, connection: Connection, prices: Arc<Prices>) -> Result<Self> {
        if let (Some(variable), None) = (provider.key_variable(), &connection.key) {
            return Err(Error::Configuration(format!(
                "{provider} has no key: set {variable}, or `providers.{provider}.key` in the settings"
            )));
        }
        let base_url = base_url(provider, connection.base_url.as_deref())?;
        Ok(Self { provider, base_url, connection, prices, client: OnceLock::new() })
    }

    fn client(&self) -> Result<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = Client::builder()
            .with_reqwest(http::client(&self.base_url)?)
            .build()
            .map_err(|error| Error::Configuration(format!("no client for {}: {error}", self.provider)))?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Where a request goes. The whole target is given, so that `genai` has nothing to guess from
    /// the model's name.
    fn target(&self, model: &str, wire: outgoing::Wire) -> ServiceTarget {
        let (kind, endpoint) = match wire {
            outgoing::Wire::Anthropic => (AdapterKind::Anthropic, self.base_url.clone()),
            outgoing::Wire::Chat if self.provider == Provider::OpenRouter => {
                (AdapterKind::OpenRouter, self.base_url.clone())
            }
            outgoing::Wire::Chat if self.provider == Provider::Ollama => {
                (AdapterKind::OpenAI, format!("{}v1/", self.base_url))
            }
            outgoing::Wire::Chat => (AdapterKind::OpenAI, self.base_url.clone()),
            outgoing::Wire::Responses => (AdapterKind::OpenAIResp, self.base_url.clone()),
            outgoing::Wire::Ollama => (AdapterKind::Ollama, self.base_url.clone()),
        };
        // A server that wants no key ignores one; `genai` insists on sending it.
        let key = self.connection.key.as_ref().map_or("none", ExposeSecret::expose_secret);
        ServiceTarget {
            endpoint: Endpoint::from_owned(endpoint),
            auth: AuthData::from_single(key),
            model: ModelIden::new(kind, model),
        }
    }
}

#[async_trait]
impl Model for GenaiModel {
    async fn call(&self, mut request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let model = request.model.take().unwrap_or_default();
        let (provider, _) = Provider::split(&model)?;
        if provider != self.provider {
            return Err(Error::Configuration(format!("`{model}` is not a model of {}", self.provider)));
        }
        let failure = Failure { model: &model, provider, connection: &self.connection };
        let client = self.client()?;
        let outgoing::Outgoing { wire, chat, options } =
            outgoing::prepare(self.provider, &self.connection, request);
        let target = self.target(&model, wire);
        let response =
            client.exec_chat_stream(target, chat, Some(&options)).await.map_err(|e| failure.of(e))?;

        let mut stream = response.stream;
        let mut answer = Answer::new(wire);
        while let Some(event) = stream.next().await {
            let event = event.map_err(|error| failure.of(error))?;
            if let Some(end) = answer.take(event, deltas) {
                let mut reply = answer.finish(end, &failure)?;
                reply.cost = self.prices.cost(&model, &reply.usage);
                reply.model = model;
                return Ok(reply);
            }
        }
        Err(failure.bad("cut off: the stream ended before the answer did"))
    }

    fn describe(&self) -> String {
        format!("{} at {}", self.provider, without_credentials(&self.base_url))
    }
}

impl std::fmt::Debug for GenaiModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GenaiModel").field(&self.describe()).finish()
    }
}

/// The address with a trailing slash, as `genai` needs it, and with the version that people leave
/// out: Anthropic's own variable is set without `/v1`, and OpenAI's compatible servers all have it.
fn base_url(provider: Provider, given: Option<&str>) -> Result<String> {
    let Some(given) = given.map(str::trim).filter(|url| !url.is_empty()).or(provider.default_base_url())
    else {
        return Err(Error::Configuration(format!(
            "{provider} has no address: set `providers.{provider}.base_url` in the settings, or {}",
            provider.base_url_variable()
        )));
    };
    let wrong = |why: &str| {
        Error::Configuration(format!(
            "`providers.{provider}.base_url` is not an address ({why}): one looks like `http://127.0.0.1:8080/v1`"
        ))
    };
    let full = if given.contains("://") { given.to_owned() } else { format!("http://{given}") };
    let mut url = reqwest::Url::parse(&full).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("neither http nor https"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    let path = match provider {
        Provider::Ollama => path.trim_end_matches("/v1").to_owned(),
        Provider::Anthropic if !path.ends_with("/v1") => path + "/v1",
        _ if path.is_empty() => "/v1".to_owned(),
        _ => path,
    };
    url.set_path(&format!("{path}/"));
    Ok(url.into())
}

/// An address as it may be shown: without the user and password, and without the query.
fn without_credentials(base_url: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(base_url) else { return String::new() };
    // Both only fail for addresses without a host, which have nothing to hide.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.into()
}
