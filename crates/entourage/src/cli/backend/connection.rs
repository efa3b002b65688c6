//! How a command reaches the engine: in the process that works in its data directory, or in its own.

use std::{sync::Arc, time::Duration};

use entourage::{Engine, Settings};
use entourage_api::{Page, PageQuery, Problem};
use entourage_server::InProcess;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, de::DeserializeOwned};

use super::{Result, Running, local_engine::LocalEngine, owner, target::Target};
use crate::cli::failure::Failure;

/// The variable with the token for a server that requires one.
const TOKEN: &str = "ENTOURAGE_TOKEN";
/// The header with the key under which a request happens once.
pub(super) const KEY: &str = "idempotency-key";
/// How long a token made for one command is valid.
const ONE_COMMAND: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest page that the server returns.
pub(super) const PAGE: u32 = 200;

/// An HTTP client. The server is on this machine and speaks plain HTTP: no certificates are read.
pub(super) fn client(limit: Option<Duration>) -> Result<Client> {
    entourage_llm::install_tls();
    let builder = Client::builder().tls_certs_only([]).no_proxy().connect_timeout(Duration::from_secs(5));
    let builder = limit.into_iter().fold(builder, reqwest::ClientBuilder::timeout);
    builder.build().map_err(|error| Failure::failed(format!("no HTTP client can be made: {error}")))
}

/// An engine, in this process or another, as one owner sees it. Clones are the same.
#[derive(Clone)]
pub(crate) struct Backend {
    http: Client,
    pub(super) place: Target,
    token: Option<SecretString>,
}

impl Backend {
    /// Connects to a process that was found.
    pub(crate) fn there(running: &Running, settings: &Settings) -> Result<Self> {
        let own = running.token.clone();
        let given = std::env::var(TOKEN).ok().filter(|token| !token.trim().is_empty());
        // A user who can read the secret may make a token; for other algorithms a token must be given.
        let token =
            own.or(given).or_else(|| entourage_server::mint(&settings.server, &owner(), ONE_COMMAND).ok());
        let place = Target::There(running.clone());
        Ok(Self { http: client(None)?, place, token: token.map(Into::into) })
    }

    /// An engine of this process to read and write rows; no agent runs.
    pub(crate) async fn to_look(settings: &Settings) -> entourage::Result<Self> {
        Self::at(entourage::look_only(settings).await?)
    }

    /// An engine of this process to read and write rows, in a database that is created if there is none; no agent runs.
    pub(crate) async fn to_write(settings: &Settings) -> entourage::Result<Self> {
        Self::at(entourage::look(settings).await?)
    }

    /// An engine of this process to read; writes may be lost.
    pub(crate) async fn to_read(settings: &Settings) -> entourage::Result<Self> {
        Self::at(entourage::read_only(settings).await?)
    }

    /// An engine of this process with everything that agents need to work.
    pub(crate) async fn to_work(settings: &Settings) -> entourage::Result<Self> {
        Self::here(LocalEngine::to_work(settings).await?)
    }

    /// Wraps this engine; no agent runs.
    pub(crate) fn at(engine: Engine) -> entourage::Result<Self> {
        Self::here(LocalEngine::new(engine, None)?)
    }

    fn here(here: LocalEngine) -> entourage::Result<Self> {
        entourage_llm::install_tls();
        let http = Client::builder().tls_certs_only([]).no_proxy().build();
        let unmade = |error: reqwest::Error| entourage::Error::Settings {
            place: "the HTTP client".to_owned(),
            why: error.to_string(),
        };
        Ok(Self { http: http.map_err(unmade)?, place: Target::LocalEngine(Arc::new(here)), token: None })
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.call(Method::GET, path).await
    }

    /// Sends a request with a query, and reads its answer.
    pub(super) async fn find<T: DeserializeOwned>(&self, path: &str, query: &impl Serialize) -> Result<T> {
        self.answer_to(self.request(Method::GET, path).query(query)).await
    }

    /// Reads a list page by page: whole, or its first entries. The query names no page.
    pub(super) async fn whole<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &impl Serialize,
        most: Option<u32>,
    ) -> Result<Vec<T>> {
        let most = most.map_or(usize::MAX, |most| most as usize);
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let left = u32::try_from(most - all.len()).unwrap_or(PAGE);
            let page = PageQuery { limit: Some(left.min(PAGE)), cursor };
            let request = self.request(Method::GET, path).query(query).query(&page);
            let Page { data, next_cursor } = self.answer_to(request).await?;
            all.extend(data);
            if next_cursor.is_none() || all.len() >= most {
                return Ok(all);
            }
            cursor = next_cursor;
        }
    }

    pub(super) async fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.call(Method::POST, path).await
    }

    /// Sends a request without a body, and reads its answer.
    pub(super) async fn call<T: DeserializeOwned>(&self, method: Method, path: &str) -> Result<T> {
        self.answer_to(self.request(method, path)).await
    }

    pub(super) async fn post_body<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T> {
        self.answer_to(self.request(Method::POST, path).json(body)).await
    }

    /// Like `post_body`, for requests that would be executed twice if sent twice; the key makes them idempotent.
    /// If the answer is lost, `look` is the command that shows whether the request was executed.
    pub(super) async fn post_once<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        key: Option<&str>,
        look: &str,
    ) -> Result<T> {
        let request = self.request(Method::POST, path).json(body);
        let request = key.into_iter().fold(request, |request, key| request.header(KEY, key));
        self.answer_to(request).await.map_err(|failure| failure.look_first(look))
    }

    /// Sends a request. Returns its answer if the status is a success.
    pub(super) async fn ask(&self, method: Method, path: &str) -> Result<Response> {
        self.answered(self.request(method, path)).await
    }

    /// Begins to read a stream.
    pub(super) async fn begin(&self, path: &str, query: &impl Serialize) -> Result<Response> {
        self.answered(self.request(Method::GET, path).query(query)).await
    }

    /// Begins to read a stream of another API than `/v1`.
    pub(super) async fn stream(
        &self,
        method: Method,
        path: &str,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response> {
        self.answered(with(self.request_at(method, path))).await
    }

    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.request_at(method, &format!("/v1/{path}"))
    }

    fn request_at(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.place.url()));
        self.token.iter().fold(request, |request, token| request.bearer_auth(token.expose_secret()))
    }

    pub(super) async fn answer_to<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T> {
        self.place.waits_for(async { self.read(self.answered(request).await?).await }).await
    }

    pub(super) async fn answered(&self, request: RequestBuilder) -> Result<Response> {
        let response = self.place.send(request).await?;
        if response.status().is_success() { Ok(response) } else { Err(self.refused(response).await) }
    }

    /// Converts the server's refusal to a failure.
    async fn refused(&self, response: Response) -> Failure {
        if let Some(error) = InProcess::cause(&response) {
            return error.into();
        }
        let status = response.status();
        let body = match response.bytes().await {
            Ok(body) => body,
            Err(error) => return self.place.unanswered(&error),
        };
        let detail = match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) if problem.is_shutting_down() => return self.place.lost("it is shutting down"),
            Ok(problem) if problem.is_not_open() => return Failure::not_open(problem.detail),
            Ok(problem) if problem.is_stale_version() => return Failure::stale(problem.detail),
            Ok(problem) if problem.is_not_found() => return Failure::not_found(problem.detail),
            // The title is only the general form of the detail.
            Ok(problem) if problem.detail.is_empty() => problem.title.into_owned(),
            Ok(problem) => problem.detail,
            Err(_) => format!("the server answered {status}"),
        };
        match status {
            StatusCode::UNAUTHORIZED => Failure::usage(format!("{detail}. Put it into {TOKEN}")),
            // The server uses this status for nothing else.
            StatusCode::GONE => Failure::cursor_gone(detail),
            status if status.is_client_error() => Failure::usage(detail),
            _ => Failure::failed(detail),
        }
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T> {
        let url = response.url().clone();
        let body = response.bytes().await.map_err(|error| self.place.unanswered(&error))?;
        serde_json::from_slice(&body).map_err(|error| {
            Failure::failed(format!(
                "{url} sent an unexpected answer: {error}. Is it the same version as this one?"
            ))
        })
    }

    /// Reports that the server answers again.
    pub(crate) fn tell_of_answer(&self) {
        self.place.tell_of_answer();
    }
}
