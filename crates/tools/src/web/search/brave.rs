//! Brave Search.

use dom_query::Document;
use reqwest::{Client, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{SearchHit, Service, endpoint};

pub(super) struct Brave {
    url: String,
    key: SecretString,
}

impl Brave {
    pub(super) fn new(url: Option<String>, key: SecretString) -> Self {
        Self { url: endpoint(url.as_deref(), "https://api.search.brave.com", "res/v1/web/search"), key }
    }
}

impl Service for Brave {
    fn names(&self) -> (&'static str, &'static str) {
        ("Brave", "BRAVE_API_KEY")
    }

    fn key(&self) -> Option<&SecretString> {
        Some(&self.key)
    }

    fn request(&self, client: &Client, query: &str, limit: usize) -> RequestBuilder {
        client
            .get(&self.url)
            .query(&[("q", query), ("count", &limit.to_string())])
            .header("x-subscription-token", self.key.expose_secret())
    }

    fn hits(&self, mut answer: Value) -> serde_json::Result<Vec<SearchHit>> {
        // An answer without web results has no `web` at all.
        let hits: Vec<SearchHit> = match answer["web"]["results"].take() {
            Value::Null => Vec::new(),
            results => serde_json::from_value(results)?,
        };
        let plain = |hit: SearchHit| SearchHit {
            title: text(&hit.title),
            snippet: hit.snippet.as_deref().map(text),
            ..hit
        };
        Ok(hits.into_iter().map(plain).collect())
    }
}

/// Returns the text without the service's markup.
fn text(html: &str) -> String {
    Document::fragment(html).text().to_string()
}
