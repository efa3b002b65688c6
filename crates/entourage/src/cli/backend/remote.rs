//! The engine in another process on this machine, over its HTTP API.

use std::{collections::BTreeSet, fmt::Display, sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage::Settings;
use entourage_engine::{
    Entry, Error, FoundInconsistency, JobRecord, ReceiverRecord, Reloaded, Seen, Signal, UsageQuery,
};
use entourage_server::Problem;
use entourage_types::{
    Action, Agent, AgentId, Answer, Chat, Event, Grant, GrantId, GrantStatus, Intervention, Item, PostId,
    Question, QuestionId, QuestionStatus, Session, UsageRow,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    Backend, Follow, Left, Listed, Part, Result, Running, Tree, UNFINISHED, owner, sent::Sent,
    stream::Stream, tree::Whole,
};
use crate::cli::{failure::Failure, kinds::Used};

/// The variable with the token for a server that requires one.
const TOKEN: &str = "ENTOURAGE_TOKEN";
/// The header with the key under which a request happens once.
const KEY: &str = "idempotency-key";
/// How long a token made for one command is valid.
const ONE_COMMAND: Duration = Duration::from_secs(24 * 60 * 60);
/// Why a server that has ended does not answer.
const DEAF: &str = "it does not listen any more";
/// The longest page that the server returns.
const PAGE: u32 = 200;

/// An HTTP client. The server is on this machine and speaks plain HTTP: no certificates are read.
pub(super) fn client(limit: Option<Duration>) -> Result<Client> {
    entourage_llm::install_tls();
    let builder = Client::builder().tls_certs_only([]).no_proxy().connect_timeout(Duration::from_secs(5));
    let builder = limit.into_iter().fold(builder, reqwest::ClientBuilder::timeout);
    builder.build().map_err(|error| Failure::failed(format!("no HTTP client can be made: {error}")))
}

/// The engine behind a server.
#[derive(Clone)]
pub(crate) struct Remote {
    http: Client,
    pub(super) running: Running,
    token: Option<SecretString>,
}

impl Remote {
    /// Connects to a server that was found.
    pub(crate) fn new(running: &Running, settings: &Settings) -> Result<Self> {
        let own = running.token.clone();
        let given = std::env::var(TOKEN).ok().filter(|token| !token.trim().is_empty());
        // A user who can read the secret may make a token; for other algorithms a token must be given.
        let token =
            own.or(given).or_else(|| entourage_server::mint(&settings.server, &owner(), ONE_COMMAND).ok());
        Ok(Self { http: client(None)?, running: running.clone(), token: token.map(Into::into) })
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.running.waits_for(async { self.read(self.ask(Method::GET, path, None).await?).await }).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: Option<Value>) -> Result<T> {
        self.running.waits_for(async { self.read(self.ask(Method::POST, path, body).await?).await }).await
    }

    /// Like `post`, for requests that would be executed twice if sent twice; the key makes them idempotent.
    /// If the answer is lost, `look` is the command that shows whether the request was executed.
    async fn post_once<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
        key: Option<&str>,
        look: &str,
    ) -> Result<T> {
        let request = self.request(Method::POST, path).json(body);
        let request = key.into_iter().fold(request, |request, key| request.header(KEY, key));
        let done = self.running.waits_for(async { self.read(self.answered(request).await?).await }).await;
        done.map_err(|failure| failure.look_first(look))
    }

    /// The server's kinds, with their open runs.
    pub(crate) async fn kinds(&self) -> Result<Vec<Used>> {
        Ok(self.get::<List<Used>>("kinds").await?.data)
    }

    /// Makes the server read the kinds again.
    pub(crate) async fn reload_kinds(&self) -> Result<Reloaded> {
        self.post("kinds/reload", None).await
    }

    /// Sends a request. Returns its answer if the status is a success.
    pub(super) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Response> {
        let request = self.request(method, path);
        self.answered(body.into_iter().fold(request, |request, body| request.json(&body))).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}/v1/{path}", self.running.url));
        self.token.iter().fold(request, |request, token| request.bearer_auth(token.expose_secret()))
    }

    async fn answered(&self, request: RequestBuilder) -> Result<Response> {
        // Another process, with other data, may now have the port of a server that has ended.
        if !self.running.is_there() {
            return Err(self.running.lost(DEAF));
        }
        let response = request.send().await.map_err(|error| self.unanswered(&error))?;
        if response.status().is_success() { Ok(response) } else { Err(self.refused(response).await) }
    }

    /// Converts the server's refusal to a failure.
    async fn refused(&self, response: Response) -> Failure {
        let status = response.status();
        let body = match response.bytes().await {
            Ok(body) => body,
            Err(error) => return self.unanswered(&error),
        };
        let detail = match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) if problem.is_shutting_down() => return self.running.lost("it is shutting down"),
            Ok(problem) if problem.is_not_open() => return Failure::not_open(problem.detail),
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
        let body = response.bytes().await.map_err(|error| self.unanswered(&error))?;
        serde_json::from_slice(&body).map_err(|error| something_else(&url, &error))
    }

    /// Reports that the server answers again.
    pub(crate) fn tell_of_answer(&self) {
        self.running.tell_of_answer();
    }

    /// Whether it may be started again after it has ended.
    pub(super) fn is_server(&self) -> bool {
        self.running.is_server()
    }

    /// The failure of a request without an answer. Unless the connection failed, the server may have received
    /// it.
    fn unanswered(&self, error: &reqwest::Error) -> Failure {
        match error.is_connect() {
            true => self.running.lost(DEAF),
            false => self.running.lost(&error.to_string()).heard(),
        }
    }
}

/// The command that shows what became of a message to an agent.
fn tail(agent: AgentId) -> String {
    format!("entourage tail {agent}")
}

/// A path of these segments, whatever characters they hold.
fn in_path(segments: &[&str]) -> String {
    let encoded = segments.iter().map(|segment| utf8_percent_encode(segment, NON_ALPHANUMERIC).to_string());
    encoded.collect::<Vec<_>>().join("/")
}

/// The failure for an answer that cannot be parsed.
fn something_else(url: &impl Display, error: &impl Display) -> Failure {
    Failure::failed(format!("{url} sent an unexpected answer: {error}. Is it the same version as this one?"))
}

/// A list, or a part of one.
#[derive(Deserialize)]
struct List<T> {
    data: Vec<T>,
    /// Where the next part begins.
    #[serde(default)]
    next_cursor: Option<String>,
}

/// An accepted message.
#[derive(Deserialize)]
struct Posted {
    post: PostId,
}

#[async_trait]
impl Backend for Remote {
    async fn expect_kind(&self, name: &str) -> Result<()> {
        let there = self.kinds().await?.into_iter().filter(|kind| !kind.gone);
        let known: Vec<String> = there.map(|kind| kind.name).collect();
        if known.iter().any(|known| known == name) {
            return Ok(());
        }
        Err(Error::UnknownKind { name: name.to_owned(), known: known.join(", ") }.into())
    }

    async fn create(&self, kind: Option<&str>, message: &str, key: Option<&str>) -> Result<Agent> {
        if !self.is_server() {
            return Err(self.running.busy());
        }
        let new = json!({ "kind": kind, "message": message });
        self.post_once("agents", &new, key, "entourage agents").await
    }

    async fn send(&self, to: AgentId, text: &str, key: Option<&str>) -> Result<PostId> {
        let (path, message) = (format!("agents/{to}/messages"), json!({ "message": text }));
        Ok(self.post_once::<Posted>(&path, &message, key, &tail(to)).await?.post)
    }

    async fn work(&self, root: AgentId) -> Result<()> {
        // The other process works on it, or no process can.
        if self.is_at_work(Some(root)) { Ok(()) } else { Err(self.running.busy()) }
    }

    fn is_at_work(&self, tree: Option<AgentId>) -> bool {
        self.running.works_on(tree)
    }

    async fn leave(&self) -> Left {
        Left::AtWork
    }

    async fn agent(&self, id: AgentId) -> Result<Agent> {
        self.get(&format!("agents/{id}")).await
    }

    async fn agents(&self, page: &Listed) -> Result<Part<Agent>> {
        let Listed { roots, status, limit, after } = page;
        let limit = limit.unwrap_or(PAGE).clamp(1, PAGE);
        let mut path = format!("agents?roots={roots}&limit={limit}");
        path.extend(status.map(|status| format!("&status={status}")));
        path.extend(after.as_ref().map(|after| format!("&cursor={after}")));
        let found: List<Agent> = self.get(&path).await?;
        Ok((found.data, found.next_cursor))
    }

    async fn unfinished(&self) -> Result<Vec<AgentId>> {
        let mut roots = BTreeSet::new();
        for status in UNFINISHED {
            let found: List<Agent> = self.get(&format!("agents?status={status}&limit={PAGE}")).await?;
            roots.extend(found.data.iter().map(|agent| agent.root));
        }
        Ok(roots.into_iter().rev().collect())
    }

    async fn has_work(&self, root: AgentId) -> Result<bool> {
        Ok(self.tree(root).await?.agents.iter().any(|agent| UNFINISHED.contains(&agent.status)))
    }

    async fn tree(&self, agent: AgentId) -> Result<Tree> {
        let path = format!("agents/{agent}/tree");
        let whole: Whole = self.get(&path).await?;
        whole.flat().map_err(|error| something_else(&path, &error))
    }

    async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>> {
        let UsageQuery { from, to, root, agent, run, by } = query;
        let by = by.iter().map(|by| by.as_str()).collect::<Vec<_>>().join(",");
        let mut path = "usage?".to_owned();
        let restricted = [
            ("group_by", Some(by).filter(|by| !by.is_empty())),
            ("from", from.map(|from| from.to_string())),
            ("to", to.map(|to| to.to_string())),
            ("tree", root.map(|root| root.to_string())),
            ("agent", agent.map(|agent| agent.to_string())),
            ("run", run.map(|run| run.to_string())),
        ];
        for (name, value) in restricted {
            path.extend(value.map(|value| format!("&{name}={value}")));
        }
        Ok(self.get::<List<UsageRow>>(&path).await?.data)
    }

    async fn entries(&self, agent: AgentId, before: Option<String>) -> Result<Part<Entry>> {
        let cursor = before.map(|before| format!("&cursor={before}")).unwrap_or_default();
        let path = format!("agents/{agent}/messages?limit={PAGE}{cursor}");
        let List { data, next_cursor }: List<Sent> = self.get(&path).await?;
        Ok((data.into_iter().map(Entry::from).collect(), next_cursor))
    }

    async fn items(&self, agent: AgentId, from: u64) -> Result<Vec<Item>> {
        let path = format!("agents/{agent}/items?from={from}&limit={PAGE}");
        Ok(self.get::<List<Item>>(&path).await?.data)
    }

    async fn questions(&self, root: Option<AgentId>) -> Result<Vec<Question>> {
        let open = QuestionStatus::Open;
        let of = root.map(|root| format!("&root={root}")).unwrap_or_default();
        let mut found: List<Question> =
            self.get(&format!("questions?status={open}&limit={PAGE}{of}")).await?;
        found.data.reverse();
        Ok(found.data)
    }

    async fn question(&self, id: QuestionId) -> Result<Question> {
        self.get(&format!("questions/{id}")).await
    }

    async fn answer(&self, id: QuestionId, answer: Answer) -> Result<Question> {
        let verdict = answer.verdict();
        let body = match answer {
            Answer::Text(text) => json!({ "answer": text }),
            Answer::Declined | Answer::Granted | Answer::Expired => json!({ "decline": true }),
            Answer::Approve { arguments, digest, .. } => {
                json!({ "verdict": verdict, "arguments": arguments, "digest": digest })
            }
            Answer::Reject { reason } => json!({ "verdict": verdict, "reason": reason }),
            Answer::Retry | Answer::GiveUp => json!({ "verdict": verdict }),
        };
        self.post(&format!("questions/{id}/answer"), Some(body)).await
    }

    async fn grants(&self, agent: Option<AgentId>) -> Result<Vec<Grant>> {
        let of = agent.map(|agent| format!("&agent={agent}")).unwrap_or_default();
        let standing = GrantStatus::Standing;
        Ok(self.get::<List<Grant>>(&format!("grants?status={standing}&limit={PAGE}{of}")).await?.data)
    }

    async fn revoke(&self, id: GrantId) -> Result<Grant> {
        let path = format!("grants/{id}");
        self.running.waits_for(async { self.read(self.ask(Method::DELETE, &path, None).await?).await }).await
    }

    async fn intervene(&self, agent: AgentId, action: Action, text: Option<&str>) -> Result<Intervention> {
        let body = json!({ "action": action, "text": text });
        self.post_once(&format!("agents/{agent}/interventions"), &body, None, &tail(agent)).await
    }

    async fn context(&self, agent: AgentId) -> Result<Seen> {
        self.get(&format!("agents/{agent}/context")).await
    }

    async fn sessions(&self, agent: AgentId, limit: u32) -> Result<Vec<Session>> {
        let limit = limit.clamp(1, PAGE);
        Ok(self.get::<List<Session>>(&format!("agents/{agent}/sessions?limit={limit}")).await?.data)
    }

    async fn agency_chats(&self, agency: &str, after: Option<&str>) -> Result<Part<Chat>> {
        let cursor = after.map(|after| format!("&cursor={after}")).unwrap_or_default();
        let path = format!("{}?limit={PAGE}{cursor}", in_path(&["agencies", agency, "chats"]));
        let List { data, next_cursor } = self.get(&path).await?;
        Ok((data, next_cursor))
    }

    async fn delete_agency_chat(&self, agency: &str, chat: &str) -> Result<()> {
        let path = in_path(&["agencies", agency, "chats", chat]);
        self.running.waits_for(self.ask(Method::DELETE, &path, None)).await.map(drop)
    }

    async fn jobs(&self) -> Result<Vec<JobRecord>> {
        Ok(self.get::<List<JobRecord>>("jobs").await?.data)
    }

    async fn run_job(&self, name: &str) -> Result<JobRecord> {
        self.post(&format!("jobs/{name}/run"), None).await
    }

    async fn inconsistencies(&self, job: &str) -> Result<Vec<FoundInconsistency>> {
        Ok(self.get::<List<FoundInconsistency>>(&format!("jobs/{job}/inconsistencies")).await?.data)
    }

    async fn receivers(&self) -> Result<Vec<ReceiverRecord>> {
        Ok(self.get::<List<ReceiverRecord>>("webhooks").await?.data)
    }

    async fn retry_receiver(&self, name: &str) -> Result<ReceiverRecord> {
        self.post(&format!("webhooks/{name}/retry"), None).await
    }

    async fn history(&self, root: AgentId, after: Option<u64>) -> Result<Vec<Event>> {
        let mut stream = Stream::open(self.clone(), root, after).await?;
        let mut events: Vec<Event> = Vec::new();
        loop {
            match stream.next().await? {
                Signal::Event(event) => events.push(Arc::unwrap_or_clone(event)),
                Signal::CaughtUp(_) => return Ok(events),
                Signal::Delta(_) => {}
            }
        }
    }

    async fn follow(&self, root: AgentId, after: u64) -> Result<Box<dyn Follow>> {
        Ok(Box::new(Stream::open(self.clone(), root, Some(after)).await?))
    }
}
