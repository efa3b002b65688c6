//! Lists the models that a provider offers, from its own list, which is free to read.

use std::time::Duration;

use reqwest::{Url, header::HeaderValue};
use secrecy::ExposeSecret;
use serde_json::Value;

use super::{ProviderModel, failure::Failure};
use crate::{Error, Provider, Result, http};

/// The longest accepted name, in bytes: the name is stored with every turn that its model answers.
const NAME: usize = 500;

impl ProviderModel {
    /// Returns the names of the models that this provider offers, in its own order, or none if it has no
    /// readable list. The request is free, and shows whether the address answers and the key is valid.
    ///
    /// # Errors
    /// As for a call: [`Error::Unreachable`] when nothing answers, [`Error::Denied`] for a wrong key, …
    pub async fn offered(&self, limit: Duration) -> Result<Option<Vec<String>>> {
        let provider = self.provider;
        let failure = Failure { model: provider.name(), provider, connection: &self.connection };
        let wrong = |what: &str| Error::Configuration(format!("the {what} of {provider} cannot be used"));
        let mut url = Url::parse(&self.base_url).map_err(|_| wrong("address"))?;
        let place = match provider {
            Provider::Ollama => "api/tags",
            // The list of all models requires no key, so it would not reveal a wrong one.
            Provider::OpenRouter => "models/user",
            _ => "models",
        };
        url.set_path(&format!("{}{place}", url.path()));
        if provider == Provider::Anthropic {
            url.query_pairs_mut().append_pair("limit", "1000");
        }
        let mut request = http::client(&self.base_url)?.get(url).timeout(limit);
        if let Some(key) = &self.connection.key {
            let key = key.expose_secret();
            let (name, value) = match provider {
                Provider::Anthropic => ("x-api-key", key.to_owned()),
                _ => ("authorization", format!("Bearer {key}")),
            };
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong("key"))?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        if provider == Provider::Anthropic {
            request = request.header("anthropic-version", "2023-06-01");
        }
        let late = |error: reqwest::Error| {
            if error.is_timeout() { failure.timed_out(limit) } else { failure.network(error) }
        };
        let response = request.send().await.map_err(late)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = http::body(response).await.map_err(late)?;
        match status.as_u16() {
            200..=299 => {
                let body = body.ok_or_else(|| failure.bad("a list of models without end"))?;
                Ok(names(&body))
            }
            // Some servers have no list.
            404 | 405 | 501 => Ok(None),
            _ => {
                let body = body.unwrap_or_default();
                Err(failure.status(status, &headers, &String::from_utf8_lossy(&body)))
            }
        }
    }
}

/// Returns the names in a list of models, in either of the two formats.
fn names(body: &[u8]) -> Option<Vec<String>> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let (list, key) = [("data", "id"), ("models", "name")]
        .iter()
        .find_map(|(list, key)| Some((body.get(list)?.as_array()?, key)))?;
    let is_name = |name: &&str| !name.trim().is_empty() && name.len() <= NAME;
    Some(
        list.iter().filter_map(|model| model.get(key)?.as_str()).filter(is_name).map(str::to_owned).collect(),
    )
}
