//! `web_search`: searches the web with the configured search service.

mod brave;
mod searxng;
mod tavily;

use std::{sync::LazyLock, time::Duration};

use async_trait::async_trait;
use entourage_types::{ResultSource, ToolSpec, tool_names};
use reqwest::{Client, RequestBuilder, StatusCode};
use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::{brave::Brave, searxng::Searxng, tavily::Tavily};
use super::client::{Lazy, Unread, body, build, builder, causes};
use crate::{Caller, Context, Done, Effect, Error, Outcome, Result, Tool, parse, spec_of};

const NAME: &str = tool_names::WEB_SEARCH;
const LIMIT: usize = 5;
const LIMIT_MOST: usize = 20;
const TOTAL: Duration = Duration::from_secs(20);
/// The largest answer that is read, in decompressed bytes: many times what twenty results take.
const MOST: usize = 2_000_000;
/// A shorter key is not a secret but a placeholder.
const LEAST_KEY: usize = 16;

/// The search service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchBackend {
    /// Tavily, or a service with its API.
    Tavily,
    /// An instance of SearXNG with its JSON format enabled.
    Searxng,
    /// Brave Search.
    Brave,
}

/// The configured search services.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchSettings {
    /// The service to use; by default the first configured one, in the order tavily, searxng, brave.
    pub backend: Option<SearchBackend>,
    /// The key for Tavily; `TAVILY_API_KEY` by default.
    #[schemars(with = "Option<String>")]
    pub tavily_api_key: Option<SecretString>,
    /// The address of Tavily; its own by default.
    pub tavily_url: Option<String>,
    /// The address of SearXNG; `SEARXNG_URL` by default.
    pub searxng_url: Option<String>,
    /// The key for Brave; `BRAVE_API_KEY` by default.
    #[schemars(with = "Option<String>")]
    pub brave_api_key: Option<SecretString>,
    /// The address of Brave; its own by default.
    pub brave_url: Option<String>,
}

impl SearchSettings {
    /// Fills in missing settings from environment variables, which `variable` looks up by name.
    #[must_use]
    pub fn or_variables(mut self, variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        self.tavily_api_key = self.tavily_api_key.or_else(|| value("TAVILY_API_KEY").map(Into::into));
        self.searxng_url = self.searxng_url.or_else(|| value("SEARXNG_URL"));
        self.brave_api_key = self.brave_api_key.or_else(|| value("BRAVE_API_KEY").map(Into::into));
        self
    }

    /// Returns the service to use; none if that one is not configured.
    fn service(&self) -> Option<Box<dyn Service>> {
        let tavily = || -> Option<Box<dyn Service>> {
            Some(Box::new(Tavily::new(self.tavily_url.clone(), self.tavily_api_key.clone()?)))
        };
        let searxng =
            || -> Option<Box<dyn Service>> { Some(Box::new(Searxng::new(self.searxng_url.as_deref()?))) };
        let brave = || -> Option<Box<dyn Service>> {
            Some(Box::new(Brave::new(self.brave_url.clone(), self.brave_api_key.clone()?)))
        };
        match self.backend {
            Some(SearchBackend::Tavily) => tavily(),
            Some(SearchBackend::Searxng) => searxng(),
            Some(SearchBackend::Brave) => brave(),
            None => tavily().or_else(searxng).or_else(brave),
        }
    }
}

/// The interface of a search service.
trait Service: Send + Sync {
    /// Returns its name and the setting with its key or address, for messages.
    fn names(&self) -> (&'static str, &'static str);

    /// Returns its key, if it has one.
    fn key(&self) -> Option<&SecretString> {
        None
    }

    /// Builds the request for a query.
    fn request(&self, client: &Client, query: &str, limit: usize) -> RequestBuilder;

    /// Returns the hits in its answer.
    fn hits(&self, answer: Value) -> serde_json::Result<Vec<SearchHit>>;
}

/// What a search of the web found, as the details of the tool's output have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchDetails {
    /// The results, the best first; empty if there are none.
    pub results: Vec<SearchHit>,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchHit {
    /// The title of the page; may be empty.
    #[serde(default)]
    pub title: String,
    /// Its address.
    pub url: String,
    /// What it says about the query, if the service tells.
    #[serde(alias = "content", alias = "description", default)]
    pub snippet: Option<String>,
}

/// Returns the address of an endpoint, below the configured base or the service's own.
fn endpoint(base: Option<&str>, own: &str, path: &str) -> String {
    let base = base.unwrap_or(own).trim_end_matches('/');
    format!("{base}/{path}")
}

/// Searches the web.
pub struct WebSearch {
    service: Option<Box<dyn Service>>,
    client: Lazy,
}

impl WebSearch {
    /// Creates the tool with these settings. Without a service the tool is not offered: a model with an
    /// unusable search wastes turns on finding that out.
    #[must_use]
    pub fn new(settings: &SearchSettings) -> Self {
        Self { service: settings.service(), client: LazyLock::new(|| build(builder().timeout(TOTAL))) }
    }

    /// Checks that a search service is configured, for validation at start-up.
    ///
    /// # Errors
    /// [`Error::NotConfigured`] with the settings to choose from.
    pub fn check(&self) -> Result<()> {
        self.service().map(drop)
    }

    fn service(&self) -> Result<&dyn Service> {
        self.service.as_deref().ok_or_else(|| {
            Error::NotConfigured(
                "no web search is set up: the operator must set one of TAVILY_API_KEY, SEARXNG_URL or \
                 BRAVE_API_KEY. Go on without a search and say so"
                    .to_owned(),
            )
        })
    }

    async fn search(&self, query: &str, limit: usize) -> Result<Vec<SearchHit>> {
        let service = self.service()?;
        let client = self.client.as_ref().map_err(Clone::clone)?;
        let (name, setting) = service.names();
        let key = service.key().map(ExposeSecret::expose_secret).filter(|key| key.len() >= LEAST_KEY);
        // Some services repeat the key, even in an answer.
        let without_key = |text: String| match key {
            Some(key) => text.replace(key, "[key]"),
            None => text,
        };
        let failed = |why: String| Error::Failed(without_key(format!("the search failed: {name} {why}")));
        let response = service
            .request(client, query, limit)
            .send()
            .await
            .map_err(|error| failed(format!("did not answer: {}", causes(&error))))?;
        match response.status() {
            status if status.is_success() => {}
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                let why = format!("{name} refuses the search ({status}): the operator must check {setting}");
                return Err(Error::NotConfigured(why));
            }
            StatusCode::TOO_MANY_REQUESTS => {
                return Err(failed("has had too many requests; wait a little and try again".to_owned()));
            }
            status => return Err(failed(format!("answered {status}"))),
        }
        let body = body(response, MOST).await.map_err(|unread| {
            failed(match unread {
                Unread::TooLarge => format!("sent more than the limit of {MOST} bytes"),
                Unread::BrokenOff(why) => format!("sent no valid answer: {why}"),
            })
        })?;
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|error| failed(format!("sent no valid answer: {error}")))?;
        let mut hits =
            service.hits(answer).map_err(|error| failed(format!("sent no valid answer: {error}")))?;
        hits.truncate(limit);
        let clean = |hit: SearchHit| SearchHit {
            title: without_key(hit.title),
            url: one_line(&without_key(hit.url)),
            snippet: hit.snippet.map(without_key),
        };
        Ok(hits.into_iter().map(clean).collect())
    }
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// What to look for.
    query: String,
    /// How many results at most: 1 to 20, normally 5.
    #[serde(default)]
    limit: Option<usize>,
}

#[async_trait]
impl Tool for WebSearch {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        self.service.as_ref().map(|_| {
            spec_of::<Arguments>(
                NAME,
                "Search the web. Returns titles, addresses and snippets; read a page with fetch_url.",
            )
        })
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Public
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { query, limit } = parse(NAME, arguments)?;
        let hits = self.search(&query, limit.unwrap_or(LIMIT).clamp(1, LIMIT_MOST)).await?;
        let text = match &hits[..] {
            // The query is not repeated: this output contains only content from the web.
            [] => "Nothing found. Try other or fewer words.".to_owned(),
            hits => {
                let lines: Vec<String> = (1..).zip(hits).map(|(number, hit)| line(number, hit)).collect();
                lines.join("\n")
            }
        };
        let details = Some(json!(SearchDetails { results: hits }));
        Ok(Outcome::Done(Done { text, details, ..Done::default() }))
    }
}

fn line(number: usize, SearchHit { title, url, snippet }: &SearchHit) -> String {
    let title = one_line(&title.replace(['[', ']'], ""));
    let snippet = one_line(snippet.as_deref().unwrap_or_default());
    format!("{number}. [{title}]({url})\n   {snippet}")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
