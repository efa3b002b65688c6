//! Tavily, and services with its API.

use reqwest::{Client, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::{SearchHit, Service, endpoint};

pub(super) struct Tavily {
    url: String,
    key: SecretString,
}

impl Tavily {
    pub(super) fn new(url: Option<String>, key: SecretString) -> Self {
        Self { url: endpoint(url.as_deref(), "https://api.tavily.com", "search"), key }
    }
}

impl Service for Tavily {
    fn names(&self) -> (&'static str, &'static str) {
        ("Tavily", "TAVILY_API_KEY")
    }

    fn key(&self) -> Option<&SecretString> {
        Some(&self.key)
    }

    fn request(&self, client: &Client, query: &str, limit: usize) -> RequestBuilder {
        client
            .post(&self.url)
            .bearer_auth(self.key.expose_secret())
            .json(&json!({ "query": query, "max_results": limit }))
    }

    fn hits(&self, mut answer: Value) -> serde_json::Result<Vec<SearchHit>> {
        serde_json::from_value(answer["results"].take())
    }
}
