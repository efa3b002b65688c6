//! A server on a socket, and a client that accepts only responses that the API description allows.

use std::{
    net::SocketAddr,
    sync::{Arc, LazyLock},
};

use entourage_api::Problem;
use entourage_engine::{
    Engine, Kinds,
    dispatch::{Dispatcher, Embedded},
};
use entourage_llm::{Error as ModelError, Message, Model, Request, Script, ScriptedModel};
use entourage_server::{Installation, Settings};
use entourage_store::{Commit, Store, Write};
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::quiet;
use entourage_types::{Owner, Time};
use reqwest::{Method, RequestBuilder, StatusCode, header::HeaderMap};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::stream::Stream;

/// A server on a socket, usually with its dispatcher at work.
pub(crate) struct Site {
    pub(crate) engine: Engine,
    pub(crate) address: SocketAddr,
    pub(crate) http: reqwest::Client,
    pub(crate) stop: CancellationToken,
    pub(crate) served: JoinHandle<entourage_server::Result<()>>,
    token: Option<String>,
}

/// A response.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

/// The model's script, which each message selects: `later` waits an hour, `ask` asks the user, `ask aloud` says why, `note` writes
/// a note, `tell X` has the researcher do X; anything else is answered at once.
fn speak(request: &Request) -> Result<Script, ModelError> {
    if matches!(request.messages.last(), Some(Message::User(text)) if text.starts_with("break")) {
        return Err(ModelError::Refused { model: "m".into(), cause: "500".into() });
    }
    if request.system.contains("You are the Orchestrator") {
        return Ok(lead(request));
    }
    Ok(match request.messages.last() {
        Some(Message::User(text)) => {
            if let Some(rest) = text.strip_prefix("tell ") {
                Script::call("send_message", json!({"recipient": "researcher", "message": rest}))
            } else if text.contains("later") {
                Script::call("wait", json!({"seconds": 3600}))
            } else if text == "ask aloud" {
                Script::text("A colour is missing.")
                    .and_call("ask_user", json!({"question": "Which colour?"}))
            } else if text.contains("ask") {
                Script::call("ask_user", json!({"question": "Which colour?", "options": ["red", "blue"]}))
            } else if text == "strange" {
                Script::call("no_such_tool", json!({}))
                    .and_call("fetch_url", json!({"url": "http://127.0.0.1/"}))
            } else if text.contains("note") {
                Script::call("create_note", json!({"title": "Found", "content": "It is blue."}))
            } else {
                Script::text(format!("You said: {text}"))
            }
        }
        Some(Message::Output { text, .. }) => Script::text(format!("It came back: {text}")),
        _ => Script::text("Nothing was said."),
    })
}

/// The script of an orchestrator: `do X` starts a researcher that does X, `tell AGENT X` passes X on to it, a
/// result is reported; anything else is answered at once.
fn lead(request: &Request) -> Script {
    let Some(Message::User(text) | Message::Notice(text)) = request.messages.last() else {
        return Script::text("Nothing was said.");
    };
    let words: Vec<&str> = text.splitn(3, ' ').collect();
    match words[..] {
        ["do", ..] => Script::call("spawn_agent", json!({"kind": "researcher", "task": &text[3..]})),
        ["tell", agent, what] => Script::call("reactivate_agent", json!({"agent": agent, "message": what})),
        ["<task_result", ..] => Script::text("It is done."),
        _ => Script::text(format!("You said: {text}")),
    }
}

/// An engine with a scripted model and the built-in kinds and tools.
pub(crate) fn engine(store: Arc<dyn Store>) -> Engine {
    engine_of(store, quiet(Kinds::builtin()))
}

/// The same with these kinds.
pub(crate) fn engine_of(store: Arc<dyn Store>, kinds: Kinds) -> Engine {
    let model = ScriptedModel::deciding(|request| Some(speak(request)));
    asking(Arc::new(model), store, kinds)
}

/// The same with this model.
pub(crate) fn asking(model: Arc<dyn Model>, store: Arc<dyn Store>, kinds: Kinds) -> Engine {
    let tools = entourage_tools::builtin(entourage_tools::Settings::default());
    Engine::builder(store, model).tools(tools).kinds(kinds).build()
}

impl Site {
    /// A site without authentication.
    pub(crate) async fn open() -> Self {
        Self::with(Settings::default()).await
    }

    /// A site with these settings.
    pub(crate) async fn with(settings: Settings) -> Self {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("a store"));
        Self::over(store, settings).await
    }

    /// A site over this store.
    pub(crate) async fn over(store: Arc<dyn Store>, settings: Settings) -> Self {
        let site = Self::at_rest(store, settings).await;
        site.work();
        site
    }

    /// A site over this store whose agents do not work by themselves.
    pub(crate) async fn at_rest(store: Arc<dyn Store>, settings: Settings) -> Self {
        Self::serving(engine(store), settings).await
    }

    /// A site with these kinds.
    pub(crate) async fn of_kinds(kinds: Kinds) -> Self {
        Self::of_kinds_with(kinds, Settings::default()).await
    }

    /// A site with these kinds and settings.
    pub(crate) async fn of_kinds_with(kinds: Kinds, settings: Settings) -> Self {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("a store"));
        let site = Self::serving(engine_of(store, kinds), settings).await;
        site.work();
        site
    }

    /// A site with this engine, whose agents do not work by themselves.
    pub(crate) async fn serving(engine: Engine, settings: Settings) -> Self {
        entourage_llm::install_tls();
        let stop = CancellationToken::new();
        let listener = entourage_server::bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let served = entourage_server::serve(listener, engine.clone(), settings, stop.clone());
        // Tests look at responses as they are sent.
        let http = reqwest::Client::builder().no_gzip().build().expect("a client");
        Self { engine, address, http, stop, served: tokio::spawn(served), token: None }
    }

    /// The same for a program that tells its operator about itself.
    pub(crate) async fn installed(
        engine: Engine,
        settings: Settings,
        installation: Arc<dyn Installation>,
    ) -> Self {
        let site = Self::serving(engine.clone(), settings.clone()).await;
        let listener = entourage_server::bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let stop = site.stop.clone();
        let served = entourage_server::serve_installed(listener, engine, settings, installation, stop);
        Self { address, served: tokio::spawn(served), ..site }
    }

    /// Starts the dispatcher, so that the agents work.
    pub(crate) fn work(&self) {
        let (store, clock) = (Arc::clone(self.engine.store()), Arc::clone(self.engine.clock()));
        let (advance, end) = (Arc::new(self.engine.clone()), self.stop.clone());
        tokio::spawn(async move { Embedded::default().run(advance, store, clock, end).await });
    }

    /// The same site, with this token on each request.
    pub(crate) fn bearing(&self, token: &str) -> Self {
        Self {
            engine: self.engine.clone(),
            address: self.address,
            http: self.http.clone(),
            stop: self.stop.clone(),
            served: tokio::spawn(async { Ok(()) }),
            token: Some(token.to_owned()),
        }
    }

    /// The engine as the local owner sees it, without HTTP.
    pub(crate) fn client(&self) -> entourage_engine::Client {
        self.engine.client(Owner::local())
    }

    /// A request, not sent yet.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("http://{}{path}", self.address));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// A GET.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        send(self.request(Method::GET, path)).await
    }

    /// A POST with a body.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        send(self.request(Method::POST, path).json(body)).await
    }

    /// A DELETE.
    pub(crate) async fn delete(&self, path: &str) -> Answer {
        send(self.request(Method::DELETE, path)).await
    }

    /// Creates an agent with a first message, and returns its id.
    pub(crate) async fn make(&self, message: &str) -> String {
        let answer = self.post("/v1/agents", &json!({ "message": message })).await;
        answer.expect(201)["id"].as_str().expect("an id").to_owned()
    }

    /// Creates an agent with a first message, and returns its id once it has succeeded.
    pub(crate) async fn done(&self, message: &str) -> String {
        let id = self.make(message).await;
        self.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;
        id
    }

    /// Has an agent have so many children that rest, one commit after the other; returns their ids, the oldest first.
    pub(crate) async fn children_of(&self, parent: &str, count: usize) -> Vec<String> {
        let client = self.engine.client(Owner::local());
        let parent = client.agent(parent.parse().expect("an id")).await.expect("the parent");
        let mut ids = Vec::with_capacity(count);
        for n in 0..count {
            let child = parent.child("researcher", format!("Part {n}"), None, Time::now());
            ids.push(child.id.to_string());
            let commit = Commit::new(child.created).write(Write::NewAgent(child));
            self.engine.store().commit(commit).await.expect("a child");
        }
        ids
    }

    /// Creates an agent that asks, and returns its id and the open question's.
    pub(crate) async fn asked(&self, message: &str) -> (String, String) {
        let id = self.make(message).await;
        let seen = self.follow(&id, 0).await.until(|frame| frame.event == "question").await;
        let question = seen.last().expect("a question").data["question"]["id"].as_str().expect("an id");
        (id, question.to_owned())
    }

    /// Follows the tree of an agent, beginning after an event.
    pub(crate) async fn follow(&self, id: &str, after: u64) -> Stream {
        let path = format!("/v1/agents/{id}/events?after={after}");
        Stream::open(self.request(Method::GET, &path)).await
    }
}

/// Sends a request and checks its response against the description.
pub(crate) async fn send(request: RequestBuilder) -> Answer {
    let (http, request) = request.build_split();
    let request = request.expect("a request");
    let (method, path) = (request.method().clone(), request.url().path().to_owned());
    let response = http.execute(request).await.expect("an answer");
    let (status, headers) = (response.status(), response.headers().clone());
    let answer = Answer { status, headers, text: response.text().await.expect("a body") };
    answer.check(&method, &path);
    answer
}

impl Answer {
    /// The body, once the status is what the test expects.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        serde_json::from_str(&self.text).expect("JSON")
    }

    /// The body as a type of the engine, once the status is 200.
    #[track_caller]
    pub(crate) fn read<T: DeserializeOwned>(&self) -> T {
        serde_json::from_value(self.expect(200)).expect("the noun's own form")
    }

    /// The problem, once its status and its slug are what the test expects.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, word: &str) -> Problem {
        let problem: Problem = serde_json::from_value(self.expect(status)).expect("a problem document");
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(
            (problem.kind.as_ref(), problem.status),
            (&*format!("urn:entourage:problem:{word}"), status)
        );
        problem
    }

    /// Why the document agent's surface refused a request, once the status is what the test expects.
    #[track_caller]
    pub(crate) fn detail(&self, status: u16) -> String {
        let body = self.expect(status);
        assert_eq!(self.headers["content-type"], "application/json");
        let mistake = &body["detail"][0]["msg"];
        mistake.as_str().or(body["detail"].as_str()).expect("a detail").to_owned()
    }

    /// Panics unless the description has this response of this operation, with this body.
    fn check(&self, method: &Method, path: &str) {
        static DESCRIPTION: LazyLock<Value> =
            LazyLock::new(|| serde_json::from_str(&entourage_server::openapi_json()).expect("JSON"));
        let Some(operation) = operation(&DESCRIPTION, method, path) else {
            let is_refused = self.status.is_client_error();
            assert!(is_refused || !path.starts_with("/v1"), "{method} {path} is not described");
            return;
        };
        let (status, media) = (self.status.as_str(), self.headers.get("content-type"));
        let responses = &operation["responses"];
        // What only some operations answer is described at each of them, and is not anything else.
        let is_special = matches!(
            self.status,
            StatusCode::CONFLICT
                | StatusCode::GONE
                | StatusCode::PRECONDITION_FAILED
                | StatusCode::PRECONDITION_REQUIRED
        );
        let other = responses.get("default").filter(|_| !is_special);
        let described = responses.get(status).or(other).unwrap_or(&Value::Null);
        let named =
            described["$ref"].as_str().and_then(|name| DESCRIPTION.pointer(name.trim_start_matches('#')));
        let described = named.unwrap_or(described);
        assert!(described.is_object(), "{method} {path} is not described to answer {status}: {}", self.text);
        let media = media.map(|media| media.to_str().expect("ASCII").split(';').next().expect("a type"));
        let Some(media) = media else { return };
        let mut schema = described["content"][media]["schema"].clone();
        assert!(schema.is_object(), "{method} {path} is not described to answer {status} with {media}");
        if !media.ends_with("json") {
            return;
        }
        schema["components"] = DESCRIPTION["components"].clone();
        let body = serde_json::from_str(&self.text).expect("JSON");
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        if let Err(error) = validator.validate(&body) {
            panic!("{method} {path} is not described to answer {status} so, {error}: {}", self.text);
        }
    }
}

/// The operation in the description for a request.
fn operation<'d>(description: &'d Value, method: &Method, path: &str) -> Option<&'d Value> {
    let fits = |pattern: &str| {
        let (pattern, path) = (pattern.split('/'), path.split('/'));
        pattern.clone().count() == path.clone().count()
            && pattern.zip(path).all(|(pattern, part)| pattern.starts_with('{') || pattern == part)
    };
    let (_, operations) = description["paths"].as_object()?.iter().find(|(pattern, _)| fits(pattern))?;
    operations.get(method.as_str().to_lowercase())
}
