//! A model server that answers immediately, in a process of its own, so that its CPU does not
//! count.
//!
//! It speaks chat completions as server-sent events over HTTP. The path selects the script, and the
//! server keeps the last requests, so that a floor can send the very same bytes.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result};
use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Path, State},
    http::header,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json, value::RawValue};

/// The model's name; one that has a price, so that the lookup counts.
pub(crate) const NAME: &str = "gpt-5-mini";
/// Tokens of one long answer.
pub(crate) const TOKENS: usize = 200;
/// The pause before each token.
const PAUSE: Duration = Duration::from_millis(5);
/// The latency of the slow model before each answer.
pub(crate) const LATENCY: Duration = Duration::from_millis(200);
/// Tool calls before the answer.
const CALLS: usize = 3;
/// How many requests are kept: those of one run.
const KEPT: usize = CALLS + 1;

/// The server's behaviour, by the first part of the path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Script {
    /// Three tool calls one after the other, then an answer.
    Calls,
    /// The same, with the first token after a pause, like real models.
    Slow,
    /// A message to the caller's peer, if it has one, then an answer.
    Delegates,
    /// Code that forks an agent, or a message to the peer, by what the caller has; then an answer.
    Forks,
    /// What an exploration asks: each decision, and an answer of a few words.
    Explores,
    /// What the document agent asks: a decision, then a whole text of a document or an answer of a few words.
    Acts,
    /// An answer of a few words.
    Text,
    /// An answer of many tokens with a pause before each.
    Tokens,
    /// A fetch of the page that the message names, then an endless answer.
    Hostile,
}

impl Script {
    const fn path(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Slow => "slow",
            Self::Delegates => "delegates",
            Self::Forks => "forks",
            Self::Explores => "explores",
            Self::Acts => "acts",
            Self::Text => "text",
            Self::Tokens => "tokens",
            Self::Hostile => "hostile",
        }
    }
}

/// The server's process; it ends when this is dropped.
pub(crate) struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts this program again, as the server.
    pub(crate) fn start() -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("model")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the model server does not start")?;
        let mut address = String::new();
        let out = child.stdout.take().context("the model server has no output")?;
        BufReader::new(out).read_line(&mut address)?;
        Ok(Self { child, address: address.trim().to_owned() })
    }

    /// The base address for one script, as of a provider.
    pub(crate) fn base(&self, script: Script) -> String {
        format!("http://{}/{}/v1", self.address, script.path())
    }

    /// The URL for a script's requests.
    pub(crate) fn completions(&self, script: Script) -> String {
        format!("{}/chat/completions", self.base(script))
    }

    /// How many requests it has received so far.
    pub(crate) async fn asked(&self) -> Result<u64> {
        Ok(serde_json::from_slice(&self.get("asked").await?)?)
    }

    async fn get(&self, what: &str) -> Result<Bytes> {
        let url = format!("http://{}/{what}", self.address);
        Ok(crate::floor::client()?.get(url).send().await?.bytes().await?)
    }

    /// The last `count` requests that it received, oldest first.
    pub(crate) async fn sent(&self, count: usize) -> Result<Vec<Bytes>> {
        let list = self.get("sent").await?;
        let bodies: Vec<Box<RawValue>> = serde_json::from_slice(&list)?;
        let skipped = bodies.len().checked_sub(count).context("the model server was asked less often")?;
        Ok(bodies.into_iter().skip(skipped).map(|body| Bytes::from(body.get().to_owned())).collect())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

type Sent = Arc<Mutex<Requests>>;

/// The requests that the server received.
#[derive(Debug, Default)]
struct Requests {
    count: u64,
    last: VecDeque<Bytes>,
}

/// The pieces of an answer.
type Chunks = Arc<[Bytes]>;

/// The answers, created beforehand: the server shares the cores with the measured programs.
#[derive(Clone)]
struct Answers {
    calls: [Chunks; CALLS],
    text: Chunks,
    tokens: Chunks,
}

impl Answers {
    fn made() -> Self {
        let calls = std::array::from_fn(|answered| call(answered).into());
        Self { calls, text: text(8).into(), tokens: text(TOKENS).into() }
    }
}

/// The server itself: prints its address, and serves until its input is closed.
pub(crate) async fn serve() -> Result<()> {
    let app = Router::new()
        .route("/{script}/v1/chat/completions", post(complete))
        .route("/sent", get(sent))
        .route("/asked", get(asked))
        .layer(DefaultBodyLimit::disable())
        .with_state((Sent::default(), Answers::made()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0]));
    axum::serve(listener, app)
        .with_graceful_shutdown(async {
            let _ = ended.await;
        })
        .await?;
    Ok(())
}

async fn asked(State((sent, _)): State<(Sent, Answers)>) -> String {
    sent.lock().unwrap_or_else(PoisonError::into_inner).count.to_string()
}

async fn sent(State((sent, _)): State<(Sent, Answers)>) -> Vec<u8> {
    let sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
    let bodies: Vec<&[u8]> = sent.last.iter().map(|body| &body[..]).collect();
    [b"[".as_slice(), &bodies.join(&b','), b"]"].concat()
}

async fn complete(
    State((sent, answers)): State<(Sent, Answers)>,
    Path(script): Path<String>,
    request: Bytes,
) -> Response {
    let answered = count(&request, b"\"role\":\"tool\"");
    let pause = if script == Script::Tokens.path() { PAUSE } else { Duration::ZERO };
    if script == Script::Slow.path() {
        tokio::time::sleep(LATENCY).await;
    }
    let chunks = match script.as_str() {
        "calls" | "slow" if answered < CALLS => answers.calls[answered].clone(),
        "delegates" if answered == 0 => match peer(&request) {
            Some(peer) => delegate(&peer).into(),
            None => answers.text.clone(),
        },
        "forks" if answered == 0 && count(&request, crate::engine::QUESTION.as_bytes()) > 0 => {
            forks(&request, &answers)
        }
        "explores" => decision(&request).map_or_else(|| answers.text.clone(), |decided| said(decided).into()),
        "acts" => acted(&request, sent.lock().unwrap_or_else(PoisonError::into_inner).count, &answers),
        "hostile" if answered == 0 => fetch(&request).into(),
        "tokens" | "hostile" => answers.tokens.clone(),
        _ => answers.text.clone(),
    };
    {
        let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.count += 1;
        if sent.last.len() == KEPT {
            sent.last.pop_front();
        }
        sent.last.push_back(request);
    }
    let is_endless = script == Script::Hostile.path() && answered > 0;
    let stream = stream::unfold((chunks, 0), move |(chunks, at)| async move {
        let chunk = chunks.get(if is_endless { at % TOKENS } else { at })?.clone();
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Some((Ok::<_, Infallible>(chunk), (chunks, at + 1)))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(stream)).into_response()
}

fn count(body: &[u8], word: &[u8]) -> usize {
    body.windows(word.len()).filter(|window| *window == word).count()
}

/// Code that forks an agent and waits for it, where the caller may run code; else as in [`Script::Delegates`].
fn forks(request: &[u8], answers: &Answers) -> Chunks {
    if count(request, b"\"name\":\"python\"") > 0 {
        return call_of(0, "python", &["{\"code\":", "\"wait(fork('The weather in Oslo, please'))\"", "}"])
            .into();
    }
    peer(request).map_or_else(|| answers.text.clone(), |peer| delegate(&peer).into())
}

/// The next call: its name, its arguments in pieces, its end.
fn call(answered: usize) -> Vec<Bytes> {
    let number = format!(",\"page\":{answered}");
    let pieces = ["{\"query\":", "\"the weather in Oslo\"", &number, "}"];
    call_of(answered, crate::engine::TOOL, &pieces)
}

/// What is decided, by the prompts of the kinds of `explore.rs`.
const DECISIONS: [(&[u8], &str); 5] = [
    (b"Decide: ambiguous", r#"{"ambiguous":false,"question":""}"#),
    (b"Decide: missing", r#"{"missing":false,"question":""}"#),
    (b"Decide: four parts", r#"{"subquestions":["the first","the second","the third","the fourth"]}"#),
    (b"Decide: no parts", r#"{"subquestions":[]}"#),
    (b"Decide: the result", r#"{"summary":"It is so.","needs_more_info":false,"question":""}"#),
];

/// The decision that a request asks for, if it asks for one.
fn decision(request: &[u8]) -> Option<&'static str> {
    DECISIONS.iter().find(|(prompt, _)| count(request, prompt) > 0).map(|(_, decided)| *decided)
}

/// The message by which an edit is decided, and what begins the request for the text.
pub(crate) const EDIT: &str = "Please edit the plan.";
const REWRITES: &[u8] = b"You change one document";

/// What is decided about a message, and what is written after it. Each text of a document is another one: an edit that
/// changes nothing stores nothing.
fn acted(request: &[u8], count_so_far: u64, answers: &Answers) -> Chunks {
    let decides = count(request, b"\"response_format\"") > 0;
    if decides && count(request, EDIT.as_bytes()) > 0 {
        let decided = json!({ "should_edit": true, "document_id": first_document(request), "change_summary": "a line" });
        return said(&decided.to_string()).into();
    }
    if decides {
        return said("{}").into();
    }
    if count(request, REWRITES) == 0 {
        return answers.text.clone();
    }
    let lines = crate::p9::text(&format!("edit {count_so_far}"));
    stream_of(lines.split_inclusive('\n').map(|line| json!({ "content": line })).collect(), "stop").into()
}

/// The id of the first document in a request.
fn first_document(request: &[u8]) -> Option<u64> {
    let request = String::from_utf8_lossy(request);
    let (_, behind) = request.split_once(r#"<document id=\""#)?;
    behind.split('\\').next()?.parse().ok()
}

/// A message to a peer.
fn delegate(peer: &str) -> Vec<Bytes> {
    let peer = format!("\"{peer}\"");
    call_of(
        0,
        "send_message",
        &["{\"recipient\":", &peer, ",\"message\":\"The weather in Oslo, please\"", "}"],
    )
}

/// A call that fetches the page named in the message.
fn fetch(request: &[u8]) -> Vec<Bytes> {
    let request = String::from_utf8_lossy(request);
    let address = request.split("Read ").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    call_of(0, "fetch_url", &["{\"url\":", &format!("\"{address}\""), "}"])
}

fn call_of(number: usize, tool: &str, arguments: &[&str]) -> Vec<Bytes> {
    let begun = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "index": 0, "id": format!("call_{number}"), "type": "function",
          "function": { "name": tool, "arguments": "" } }
    ] });
    let piece = |text: &str| json!({ "tool_calls": [{ "index": 0, "function": { "arguments": text } }] });
    let deltas = std::iter::once(begun).chain(arguments.iter().map(|text| piece(text)));
    stream_of(deltas.collect(), "tool_calls")
}

/// The one peer that the caller may write to, if there is one.
fn peer(request: &[u8]) -> Option<String> {
    let request: Value = serde_json::from_slice(request).ok()?;
    let recipients = request.pointer("/tools/0/function/parameters/properties/recipient/enum")?.as_array()?;
    recipients.iter().filter_map(Value::as_str).find(|name| *name != "user").map(str::to_owned)
}

/// An answer of this many tokens.
fn text(tokens: usize) -> Vec<Bytes> {
    stream_of((0..tokens).map(|n| json!({ "content": format!(" word{n}") })).collect(), "stop")
}

/// An answer with this text.
fn said(text: &str) -> Vec<Bytes> {
    stream_of(vec![json!({ "content": text })], "stop")
}

fn stream_of(deltas: Vec<Value>, reason: &str) -> Vec<Bytes> {
    let choice = |delta: Value, reason: Option<&str>| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": reason }]), None)
    };
    let usage = json!({ "prompt_tokens": 120, "completion_tokens": 20, "total_tokens": 140 });
    let mut chunks: Vec<Bytes> = deltas.into_iter().map(|delta| choice(delta, None)).collect();
    chunks.push(choice(json!({}), Some(reason)));
    chunks.push(chunk(json!([]), Some(usage)));
    chunks.push(Bytes::from_static(b"data: [DONE]\n\n"));
    chunks
}

fn chunk(choices: Value, usage: Option<Value>) -> Bytes {
    let body = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_750_000_000, "model": NAME,
        "choices": choices, "usage": usage,
    });
    Bytes::from(format!("data: {body}\n\n"))
}
