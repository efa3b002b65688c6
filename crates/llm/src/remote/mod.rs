//! One provider behind [`Model`].
//!
//! Most protocols go through the `genai` crate, which knows their quirks. The one that most providers share,
//! chat completions, is implemented here: `genai` copies a conversation several times as JSON trees, which
//! takes 5 ms per turn for a thousand messages instead of 0.5 ms.

mod address;
mod answer;
mod arguments;
mod chat;
mod failure;
mod genai;
mod list;
mod redacting;
mod window;

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use entourage_types::{Cost, ModelUse, Usage};
use secrecy::ExposeSecret;

use crate::{Connection, Delta, Deltas, Error, Model, Prices, Provider, Reply, Request, Result};
pub(crate) use address::without_credentials;
use failure::Failure;
use redacting::{Key, Redacting};

/// One provider.
pub struct ProviderModel {
    provider: Provider,
    base_url: String,
    connection: Connection,
    prices: Arc<Prices>,
    chat: OnceLock<chat::Client>,
    genai: OnceLock<genai::Client>,
}

impl ProviderModel {
    /// Creates a provider from its settings, without connecting before the first call.
    ///
    /// # Errors
    /// [`Error::Configuration`] when its key or address is missing, or the address is not a URL.
    pub fn new(provider: Provider, connection: Connection, prices: Arc<Prices>) -> Result<Self> {
        if let (Some(variable), None) = (provider.key_variable(), &connection.key) {
            return Err(Error::Configuration(format!(
                "{provider} has no key: set {variable}, or `models.providers.{provider}.key` in the settings"
            )));
        }
        let base_url = address::complete(provider, connection.base_url.as_deref())?;
        Ok(Self { provider, base_url, connection, prices, chat: OnceLock::new(), genai: OnceLock::new() })
    }

    /// Returns the window with which its server serves a model; none if the server does not say.
    pub(crate) async fn window(&self, name: &str) -> Option<u32> {
        window::ask(self.provider, &self.base_url, &self.connection, name).await
    }

    /// Whether both use the same account: the same address and the same key.
    pub(crate) fn shares_account(&self, other: &Self) -> bool {
        let key = |of: &Self| of.connection.key.as_ref().map(|key| key.expose_secret().to_owned());
        self.base_url == other.base_url && key(self) == key(other)
    }

    /// Whether a request goes through chat completions. `genai` sends no schema in Ollama's own protocol, so
    /// requests with one use Ollama's chat completions.
    fn speaks_chat(&self, request: &Request) -> bool {
        match self.provider {
            Provider::OpenAi | Provider::OpenRouter | Provider::Compatible => true,
            Provider::Ollama => request.output_schema.is_some(),
            Provider::Anthropic | Provider::OpenAiResp => false,
        }
    }
}

#[async_trait]
impl Model for ProviderModel {
    async fn call(&self, mut request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let model = request.model.take().unwrap_or_default();
        let (provider, name) = Provider::split(&model)?;
        if provider != self.provider {
            return Err(Error::Configuration(format!("`{model}` is not a model of {}", self.provider)));
        }
        let failure = Failure { model: &model, provider, connection: &self.connection };
        let key = Key::of(self.connection.key.as_ref().map(ExposeSecret::expose_secret));
        let mut struck = Redacting::new(deltas, key);
        let answer = if self.speaks_chat(&request) {
            let client = once(&self.chat, || chat::Client::new(provider, &self.base_url, &self.connection))?;
            client.call(name, &request, &failure, &mut struck).await?
        } else {
            let client =
                once(&self.genai, || genai::Client::new(provider, &self.base_url, &self.connection))?;
            client.call(request, &failure, &mut struck).await?
        };
        struck.end();
        let usage = answer.used();
        let cost = self.prices.cost(&model, &usage);
        let has_ended = answer.has_ended();
        match answer.into_reply(&failure) {
            Ok(mut reply) => {
                key.strike(&mut reply);
                Ok(Reply { model, usage, cost, ..reply })
            }
            Err(error) => {
                // Usage that the provider does not report is unknown.
                if !usage.is_none() {
                    let used = ModelUse { model, usage, cost };
                    deltas.delta(match has_ended {
                        true => Delta::DiscardedUsage(used),
                        false => Delta::PartialUsage(used),
                    });
                }
                Err(error)
            }
        }
    }

    fn price(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        self.prices.cost(model?, usage)
    }

    fn describe(&self) -> String {
        format!("{} at {}", self.provider, without_credentials(&self.base_url))
    }
}

impl std::fmt::Debug for ProviderModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ProviderModel").field(&self.describe()).finish()
    }
}

/// Returns the cell's value, and creates it if the cell is empty. Of two concurrent first callers both create
/// one, and one is kept.
fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    match cell.get() {
        Some(made) => Ok(made),
        None => make().map(|made| cell.get_or_init(|| made)),
    }
}
