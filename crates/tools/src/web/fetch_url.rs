//! `fetch_url`: one page of the public web as text.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use async_trait::async_trait;
use entourage_types::{Owner, ResultSource, ToolSpec, tool_names};
use reqwest::{
    Client, ClientBuilder, Response,
    header::{ACCEPT, CONTENT_TYPE, LOCATION},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    client::{Lazy, Unread, body, build, builder, causes},
    content::{Form, decoded},
    guard::{AllowedHost, GuardedResolver, Route, check, refusal},
    owner_limits::{OwnerLimits, cores},
    readable::{self, Page},
};
use crate::{Address, Caller, Context, Done, Effect, Error, Outcome, Result, Tool, parse, spec_of};

const NAME: &str = tool_names::FETCH_URL;
const MOST_REDIRECTS: usize = 5;
const ACCEPTED: &str = "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, \
                        application/xml;q=0.9, */*;q=0.1";

/// Which addresses require a person's approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FetchApproval {
    /// Those that neither a person nor the instructions of a kind, a page or a search result gave, once the
    /// agent or one it works with has read private data.
    #[default]
    Invented,
    /// None.
    Never,
}

/// How pages are fetched.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FetchSettings {
    /// Hosts that may be fetched from although they are not on the public internet: `name`, `address`, or
    /// either with `:port` to allow only that port.
    #[schemars(with = "Vec<String>")]
    pub allow: Vec<AllowedHost>,
    /// Which addresses require a person's approval: `invented` or `never`.
    pub approval: FetchApproval,
    /// The largest page, in bytes once decompressed.
    pub max_bytes: usize,
    /// The seconds from the first request to the readable text, redirects included.
    pub max_seconds: u64,
}

impl Default for FetchSettings {
    fn default() -> Self {
        Self { allow: Vec::new(), approval: FetchApproval::default(), max_bytes: 5_000_000, max_seconds: 30 }
    }
}

/// Fetches one page of the public web and returns its readable text.
pub struct FetchUrl {
    settings: FetchSettings,
    guarded: Lazy,
    open: Lazy,
    /// Slots for converting pages to readable text: each keeps a core busy and takes many times the page's
    /// size in memory.
    places: Arc<Semaphore>,
    /// Each owner's share of the slots.
    shares: OwnerLimits,
}

/// A received body, before its conversion to readable text.
struct Fetched {
    url: Url,
    form: Form,
    text: String,
}

/// Without a proxy, which would resolve names itself, bypassing the guard.
fn plain() -> ClientBuilder {
    builder().no_proxy()
}

impl FetchUrl {
    /// Creates the tool with these settings.
    #[must_use]
    pub fn new(settings: FetchSettings) -> Self {
        Self {
            settings,
            guarded: LazyLock::new(|| build(plain().dns_resolver(GuardedResolver))),
            open: LazyLock::new(|| build(plain())),
            places: Arc::new(Semaphore::new(cores())),
            shares: OwnerLimits::default(),
        }
    }

    fn client(&self, way: Route) -> Result<&Client> {
        let client = match way {
            Route::Guarded => &self.guarded,
            Route::Open => &self.open,
        };
        client.as_ref().map_err(Clone::clone)
    }

    /// Follows redirects, checking each of them. Returns the final address and its response.
    async fn get(&self, mut url: Url) -> Result<(Url, Response)> {
        for _ in 0..=MOST_REDIRECTS {
            url.set_fragment(None);
            let client = self.client(check(&url, &self.settings.allow)?)?;
            let sent = client.get(url.clone()).header(ACCEPT, ACCEPTED).send().await;
            let response = sent.map_err(|error| match refusal(&error) {
                Some(refused) => refused.clone().into(),
                None => Error::Failed(format!("`{url}` cannot be fetched: {}", causes(&error))),
            })?;
            let status = response.status();
            if status.is_success() {
                return Ok((url, response));
            }
            let next = response.headers().get(LOCATION).filter(|_| status.is_redirection());
            let Some(next) = next else {
                return Err(Error::Failed(format!("`{url}` answered {status}")));
            };
            url =
                next.to_str().ok().and_then(|next| url.join(next).ok()).ok_or_else(|| {
                    Error::Failed(format!("`{url}` redirects to something that is no address"))
                })?;
        }
        Err(Error::Failed(format!("more than {MOST_REDIRECTS} redirects, the last one to `{url}`")))
    }

    async fn body(&self, url: &Url, response: Response) -> Result<Vec<u8>> {
        let most = self.settings.max_bytes;
        body(response, most).await.map_err(|unread| {
            Error::Failed(match unread {
                Unread::TooLarge => format!("`{url}` is larger than the limit of {most} bytes"),
                Unread::BrokenOff(why) => format!("`{url}` broke off: {why}"),
            })
        })
    }

    async fn fetch(&self, url: Url) -> Result<Fetched> {
        let (url, response) = self.get(url).await?;
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let form = Form::of(&content_type).ok_or_else(|| {
            Error::Failed(format!("`{url}` is `{content_type}`; only web pages and text can be read"))
        })?;
        let body = self.body(&url, response).await?;
        Ok(Fetched { form, text: decoded(&body, &content_type), url })
    }

    /// Returns the page within the time limit of a fetch. The wait for a slot does not count: it is not the
    /// page's fault.
    async fn page(&self, owner: &Owner, url: Url) -> Result<(Url, Page)> {
        let stopped =
            |error: &dyn std::fmt::Display| Error::Failed(format!("the page cannot be read: {error}"));
        let share = self.shares.of(owner);
        let fetched = Arc::clone(&share.fetched).acquire_owned().await.map_err(|error| stopped(&error))?;
        let limit = Duration::from_secs(self.settings.max_seconds);
        let too_slow = |url: &Url| Error::Failed(format!("`{url}` takes longer than {limit:?}"));
        let begun = Instant::now();
        let Fetched { url, form, text } =
            timeout(limit, self.fetch(url.clone())).await.unwrap_or_else(|_| Err(too_slow(&url)))?;
        if form == Form::Text {
            return Ok((url, Page { title: String::new(), text }));
        }
        let left = limit.saturating_sub(begun.elapsed());
        let own = Arc::clone(&share.read).acquire_owned().await.map_err(|error| stopped(&error))?;
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|error| stopped(&error))?;
        let address = url.to_string();
        let abandoned = CancellationToken::new();
        let _waiting = abandoned.clone().drop_guard();
        // Off the async worker threads, which serve all calls: a large page takes a while. An abandoned
        // conversion keeps its slot until it ends.
        let reading = tokio::task::spawn_blocking(move || {
            let _places = (fetched, own, place, share);
            readable::page(&text, &address, &abandoned)
        });
        let page = timeout(left, reading).await.map_err(|_| too_slow(&url))?;
        Ok((url, page.map_err(|error| stopped(&error))??))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The address of the page, with http:// or https://.
    url: String,
    /// How many characters of its text at most; all of it when not given.
    #[serde(default)]
    max_chars: Option<usize>,
}

#[async_trait]
impl Tool for FetchUrl {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<Arguments>(NAME, "Read a web page or a text file on the public web."))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Public
    }

    /// An invalid address requires no approval: the call reports what is wrong with it.
    fn address(&self, arguments: &Value) -> Option<Address> {
        let asks = self.settings.approval == FetchApproval::Invented;
        let written = arguments["url"].as_str().filter(|_| asks)?.trim();
        let url = read(written).ok()?;
        let host = url.host_str()?.to_owned();
        Some(Address { url: url.into(), written: written.to_owned(), host })
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { url, max_chars } = parse(NAME, arguments)?;
        let url = read(url.trim()).map_err(|error| Error::Arguments {
            tool: NAME.to_owned(),
            why: format!(
                "`{url}` is not an address ({error}); write it in full, like https://example.com/page"
            ),
        })?;
        let (url, page) = self.page(&context.owner, url).await?;
        Ok(Outcome::Done(Done {
            text: rendered(&url, &page, max_chars),
            details: Some(json!({ "url": url.as_str(), "title": page.title })),
            ..Done::default()
        }))
    }
}

/// Reads an address without its fragment, which is not sent.
fn read(written: &str) -> std::result::Result<Url, url::ParseError> {
    let mut url = Url::parse(written)?;
    url.set_fragment(None);
    Ok(url)
}

fn rendered(url: &Url, Page { title, text }: &Page, max_chars: Option<usize>) -> String {
    let mut out = String::new();
    if !title.is_empty() {
        out.push_str(&format!("# {title}\n"));
    }
    out.push_str(&format!("{url}\n\n"));
    match max_chars.and_then(|most| text.char_indices().nth(most)) {
        Some((end, _)) => {
            let all = text.chars().count();
            out.push_str(&text[..end]);
            out.push_str(&format!("\n[cut here; the text has {all} characters]"));
        }
        None => out.push_str(text),
    }
    out
}

#[cfg(test)]
mod tests {
    use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

    use super::*;

    #[tokio::test]
    async fn a_page_waits_for_a_free_place_before_it_is_made_readable() {
        let server = MockServer::start().await;
        for (at, content_type) in [("/page", "text/html"), ("/text", "text/plain")] {
            let answer = ResponseTemplate::new(200).set_body_raw("<p>Hello.</p>", content_type);
            Mock::given(path(at)).respond_with(answer).mount(&server).await;
        }
        let address = |at: &str| Url::parse(&format!("{}{at}", server.uri())).unwrap();
        let allow = vec!["127.0.0.1".parse().unwrap()];
        let tool = FetchUrl::new(FetchSettings { allow, ..FetchSettings::default() });
        let all = u32::try_from(tool.places.available_permits()).unwrap();
        let taken = Arc::clone(&tool.places).acquire_many_owned(all).await.unwrap();
        let local = Owner::local();
        let mut page = std::pin::pin!(tool.page(&local, address("/page")));
        for _ in 0..20 {
            tokio::select! {
                biased;
                read = &mut page => panic!("it had no place: {:?}", read.map(|(_, page)| page)),
                text = tool.page(&local, address("/text")) => assert_eq!(text.unwrap().1.text, "<p>Hello.</p>"),
            }
        }
        drop(taken);
        assert_eq!(page.await.unwrap().1.text, "Hello.");
        assert_eq!(tool.places.available_permits(), all as usize, "the place is free again");
    }

    /// Whatever one owner fetches and reads, a slot remains for others.
    #[tokio::test]
    async fn one_owner_cannot_take_every_place_for_reading_pages() {
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(200).set_body_raw("<p>Hello.</p>", "text/html");
        Mock::given(path("/page")).respond_with(answer).mount(&server).await;
        let address = Url::parse(&format!("{}/page", server.uri())).unwrap();
        let allow = vec!["127.0.0.1".parse().unwrap()];
        let tool = FetchUrl::new(FetchSettings { allow, ..FetchSettings::default() });
        let (greedy, other) = (Owner::new("greedy"), Owner::new("other"));
        let share = tool.shares.of(&greedy);
        assert!(share.read.available_permits() < cores().max(2), "all places but one");
        let all = u32::try_from(share.fetched.available_permits()).unwrap();
        let _fetching = share.fetched.acquire_many(all).await.unwrap();
        let mut waits = std::pin::pin!(tool.page(&greedy, address.clone()));
        tokio::select! {
            biased;
            read = &mut waits => panic!("it has no share left: {:?}", read.map(|(_, page)| page)),
            read = tool.page(&other, address) => assert_eq!(read.unwrap().1.text, "Hello."),
        }
        assert!(!server.received_requests().await.unwrap().is_empty());
    }
}
