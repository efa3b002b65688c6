//! Remote MCP servers, over streamable HTTP.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use entourage_tools::{Error, McpSettings, McpTransport, connect_server};
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::local::LocalSessionManager,
};
use serde_json::json;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{
    everything::Everything,
    support::{done, fails},
};

/// A server that can be restarted at the same address, and can refuse requests.
struct Remote {
    port: u16,
    refusals: Arc<AtomicUsize>,
    /// Replaces the answer to the next call, once the call was executed.
    instead: Instead,
    serving: JoinHandle<()>,
}

/// A status, a content type and a body.
type Instead = Arc<Mutex<Option<(StatusCode, &'static str, &'static str)>>>;

impl Remote {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (refusals, instead) = (Arc::default(), Instead::default());
        let serving = serve(listener, Arc::clone(&refusals), Arc::clone(&instead));
        Self { port, serving, refusals, instead }
    }

    /// Restarts the server, which loses all sessions.
    async fn restart(&mut self) {
        self.serving.abort();
        let _ = (&mut self.serving).await;
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await.unwrap();
        self.serving = serve(listener, Arc::clone(&self.refusals), Arc::clone(&self.instead));
    }

    fn settings(&self, token: &str) -> McpSettings {
        let headers = BTreeMap::from([("authorization".to_owned(), format!("Bearer {token}").into())]);
        let url = format!("http://127.0.0.1:{}/mcp?key=hush", self.port);
        McpSettings::new("far", McpTransport::Url { url, headers })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn serve(listener: TcpListener, refusals: Arc<AtomicUsize>, instead: Instead) -> JoinHandle<()> {
    let service = StreamableHttpService::new(
        || Ok(Everything),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let router = Router::new().nest_service("/mcp", service);
    let router = router.layer(from_fn_with_state(instead, proxy)).layer(from_fn_with_state(refusals, gate));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() })
}

/// Requires the right token, and refuses even that for a given number of requests.
async fn gate(
    State(refusals): State<Arc<AtomicUsize>>,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    let refused =
        refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
    if refused || headers.get("authorization").is_none_or(|token| token != "Bearer right") {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")]).into_response();
    }
    next.run(request).await
}

/// Forwards requests, and replaces the answer if the test has set one.
async fn proxy(State(instead): State<Instead>, request: Request, next: Next) -> Response {
    let answer = next.run(request).await;
    match instead.lock().unwrap().take() {
        Some((status, kind, body)) => (status, [(header::CONTENT_TYPE, kind)], body).into_response(),
        None => answer,
    }
}

#[tokio::test]
async fn an_unsafe_call_whose_answer_cannot_be_read_is_in_doubt() {
    let remote = Remote::start().await;
    let (tools, _) = connect_server(remote.settings("right")).await.unwrap();
    let find = |name: &str| tools.iter().find(|tool| tool.name() == name).unwrap().as_ref();
    let json = "application/json";
    for (status, kind, body, why) in [
        (502, "text/html", "<h1>Bad gateway</h1>", "it answered with the HTTP status 502"),
        (200, "text/html", "<h1>Paid</h1>", "its answer is of the type `text/html`"),
        (200, json, "", "its answer cannot be read"),
        (200, json, "{}", "its answer cannot be read"),
    ] {
        let lies = || {
            let status = StatusCode::from_u16(status).unwrap();
            *remote.instead.lock().unwrap() = Some((status, kind, body));
        };
        lies();
        let doubt = format!(
            "the MCP server `far` gave no answer to the call: {why}. Whether the call took effect is not known: \
             check before you call again"
        );
        assert_eq!(fails(find("far__structured"), json!({})).await, Error::InDoubt(doubt));
        lies();
        let failed = format!("the MCP server `far` gave no answer to the call: {why}");
        assert_eq!(fails(find("far__echo"), json!({})).await, Error::Failed(failed), "it may be repeated");
    }
    let refused = Error::Failed("no such thing".to_owned());
    assert_eq!(fails(find("far__refuse"), json!({})).await, refused, "an error of the protocol is an answer");
}

#[tokio::test]
async fn a_remote_server_is_called_with_its_headers() {
    let remote = Remote::start().await;
    let (tools, _) = connect_server(remote.settings("right")).await.unwrap();
    let echo = tools.iter().find(|tool| tool.name() == "far__echo").unwrap();
    assert_eq!(done(echo.as_ref(), json!({ "text": "hello" })).await.text, "hello");
    let problem = connect_server(remote.settings("wrong")).await.err().unwrap().to_string();
    assert!(
        problem.contains("Auth required") && !problem.contains("wrong") && !problem.contains("hush"),
        "{problem}"
    );
}

/// A password in the address is a secret, and also who reads why a server is away does not read it.
#[tokio::test]
async fn the_error_for_an_unreachable_address_has_no_password() {
    let url = "http://me:canary%2F1234@127.0.0.1:1/mcp?key=canary-5678".to_owned();
    let settings = McpSettings::new("far", McpTransport::Url { url, headers: BTreeMap::new() });
    let problem = connect_server(settings).await.err().unwrap().to_string();
    assert!(problem.contains("(http://127.0.0.1:1/mcp)") && !problem.contains("canary"), "{problem}");
}

#[tokio::test]
async fn a_call_succeeds_after_a_restart_of_the_server() {
    let mut remote = Remote::start().await;
    let (tools, _) = connect_server(remote.settings("right")).await.unwrap();
    let find = |name: &str| tools.iter().find(|tool| tool.name() == name).unwrap().as_ref();
    for name in ["far__echo", "far__structured"] {
        remote.restart().await;
        assert!(!done(find(name), json!({ "text": "hello" })).await.text.is_empty());
    }
}

#[tokio::test]
async fn a_refused_session_is_renewed_once() {
    let remote = Remote::start().await;
    let (tools, _) = connect_server(remote.settings("right")).await.unwrap();
    let structured = tools.iter().find(|tool| tool.name() == "far__structured").unwrap().as_ref();
    remote.refusals.store(1, Ordering::SeqCst);
    assert_eq!(done(structured, json!({ "text": "four" })).await.text, r#"{"length":4}"#);
    remote.refusals.store(usize::MAX, Ordering::SeqCst);
    let error = fails(structured, json!({ "text": "four" })).await.to_string();
    assert!(error.contains("`far`") && !error.contains("hush"), "{error}");
    remote.refusals.store(0, Ordering::SeqCst);
    done(structured, json!({ "text": "four" })).await;
}
