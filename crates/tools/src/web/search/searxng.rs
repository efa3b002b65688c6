//! SearXNG, a self-hosted search engine. Its JSON format must be enabled.

use reqwest::{Client, RequestBuilder};
use serde_json::Value;

use super::{SearchHit, Service, endpoint};

pub(super) struct Searxng {
    url: String,
}

impl Searxng {
    pub(super) fn new(url: &str) -> Self {
        Self { url: endpoint(Some(url), "", "search") }
    }
}

impl Service for Searxng {
    fn names(&self) -> (&'static str, &'static str) {
        ("SearXNG", "that `json` is among its `search.formats`")
    }

    fn request(&self, client: &Client, query: &str, _: usize) -> RequestBuilder {
        client.get(&self.url).query(&[("q", query), ("format", "json")])
    }

    fn hits(&self, mut answer: Value) -> serde_json::Result<Vec<SearchHit>> {
        serde_json::from_value(answer["results"].take())
    }
}
