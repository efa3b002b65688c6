//! Streams of one owner keep no other owner out, and hold little while they are not read.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use entourage_server::Settings;
use entourage_store::{Layered, StoreLayer};
use entourage_store_sqlite::SqliteStore;
use entourage_types::{Event, Owner};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use crate::{
    auth::{settings, token_of},
    site::{Answer, Site, send},
    start::unfinished,
};

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of a page of events, not counting the event that exceeds the limit.
const PAGE: usize = 256 << 10;
/// The text of a long event.
const LONG: usize = 500_000;

/// Creates an agent that does nothing, with `events` long events.
async fn agent_with_long_events(site: &Site, events: usize) -> String {
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    for _ in 0..events {
        comment(site, &id).await;
    }
    id
}

async fn comment(site: &Site, id: &str) {
    let comment = json!({"action": "comment", "text": "z".repeat(LONG)});
    site.post(&format!("/v1/agents/{id}/interventions"), &comment).await.expect(202);
}

/// The response to an attempt to follow an agent that the server refuses.
async fn try_to_follow(site: &Site, id: &str) -> Answer {
    send(site.request(Method::GET, &format!("/v1/agents/{id}/events"))).await
}

/// Follows over a socket with a small buffer, and reads no more than the beginning of the answer.
async fn follow_without_reading(site: &Site, id: &str, token: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(site.address).await.unwrap();
    let head = format!(
        "GET /v1/agents/{id}/events?after=0 HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n",
        site.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut begun = [0; 15];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut begun)).await.expect("an answer").unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200 OK");
    stream
}

#[tokio::test]
async fn a_stream_over_an_owners_limit_is_refused_until_another_ends() {
    let site = Site::with(Settings { streams: 2, ..settings() }).await;
    let (ann, bob) = (site.bearing(&token_of("ann")), site.bearing(&token_of("bob")));
    let id = agent_with_long_events(&ann, 0).await;
    let (first, _second) = (ann.follow(&id, 0).await, ann.follow(&id, 0).await);
    let answer = try_to_follow(&ann, &id).await;
    let problem = answer.problem(429, "too-many-streams");
    assert!(problem.detail.contains("close one, or ask again"), "{}", problem.detail);
    assert!(answer.headers.contains_key("retry-after"));
    // A message whose answer the client would wait for is not delivered.
    let said = ann.post("/v1/agencies/none/responses", &json!({"message": "hello"})).await;
    said.problem(429, "too-many-streams");
    assert_eq!(ann.get(&format!("/v1/agents/{id}")).await.status, StatusCode::OK);
    let others = agent_with_long_events(&bob, 0).await;
    bob.follow(&others, 0).await;
    drop(first);
    let again = async {
        while ann.request(Method::GET, &format!("/v1/agents/{id}/events")).send().await.unwrap().status()
            != 200
        {}
    };
    tokio::time::timeout(PATIENCE, again).await.expect("there is room again");
}

#[tokio::test]
async fn streams_leave_connections_free_for_other_owners_at_one_address() {
    let site = Site::with(Settings { connections: Some(8), ..settings() }).await;
    let [ann, bob, carol] = ["ann", "bob", "carol"].map(|owner| site.bearing(&token_of(owner)));
    let (hers, his) = (agent_with_long_events(&ann, 0).await, agent_with_long_events(&bob, 0).await);
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(ann.follow(&hers, 0).await);
    }
    try_to_follow(&ann, &hers).await.problem(429, "too-many-streams");
    for _ in 0..2 {
        open.push(bob.follow(&his, 0).await);
    }
    // His own streams are not too many: all streams together have reached their limit.
    try_to_follow(&bob, &his).await.problem(503, "busy");
    assert_eq!(carol.get("/v1/agents").await.status, StatusCode::OK);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(site.get(path).await.status, StatusCode::NO_CONTENT);
    }
}

/// A request that was answered is no longer under way.
#[tokio::test]
async fn answered_requests_do_not_count_against_an_owners_limit() {
    let site = Site::with(Settings { connections: Some(8), ..settings() }).await;
    let ann = site.bearing(&token_of("ann"));
    for _ in 0..32 {
        assert_eq!(ann.get("/v1/agents").await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_full_server_answers_503_but_its_health_checks_succeed() {
    let site = Site::with(Settings { connections: Some(2), ..Settings::default() }).await;
    let _under_way = (unfinished(&site).await, unfinished(&site).await);
    for path in ["/v1/agents", "/metrics", "/openapi.json"] {
        let answer = site.get(path).await;
        answer.problem(503, "busy");
        assert!(answer.headers.contains_key("retry-after"));
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(site.get(path).await.status, StatusCode::NO_CONTENT);
    }
}

/// CountsBytesRead the bytes of events that are read.
struct CountsBytesRead(Arc<AtomicUsize>);

impl StoreLayer for CountsBytesRead {
    fn events(&self, events: Vec<Event>) -> Vec<Event> {
        let bytes: usize = events.iter().map(|event| serde_json::to_string(event).unwrap().len()).sum();
        self.0.fetch_add(bytes, Ordering::Relaxed);
        events
    }
}

#[tokio::test]
async fn clients_that_do_not_read_cause_no_further_reads_from_the_store() {
    const SOCKETS: usize = 50;
    let read = Arc::new(AtomicUsize::new(0));
    let store = Layered::new(Arc::new(SqliteStore::in_memory().unwrap()), CountsBytesRead(Arc::clone(&read)));
    let site = Site::at_rest(Arc::new(store), settings()).await;
    let (token, bob) = (token_of("ann"), site.bearing(&token_of("bob")));
    let ann = site.bearing(&token);
    let id = agent_with_long_events(&ann, 20).await;
    read.store(0, Ordering::Relaxed);
    let mut sockets = Vec::new();
    for _ in 0..SOCKETS {
        sockets.push(follow_without_reading(&site, &id, &token).await);
        assert_eq!(bob.get("/v1/agents").await.status, StatusCode::OK);
    }
    let bytes = read.load(Ordering::Relaxed);
    assert!(bytes <= SOCKETS * (PAGE + LONG), "{bytes} bytes were read for {SOCKETS} that read nothing");

    // What they held is free again for a client that reads.
    drop(sockets);
    let client = site.engine.client(Owner::new("ann"));
    let last = client.last_event(id.parse().unwrap()).await.unwrap();
    ann.follow(&id, 0).await.until(|frame| frame.id == Some(last)).await;
}

#[tokio::test]
async fn an_unread_stream_is_closed_after_the_write_timeout() {
    let brief = Duration::from_millis(50);
    let site = Site::with(Settings { streams: 1, write_timeout: brief, ..settings() }).await;
    let token = token_of("ann");
    let ann = site.bearing(&token);
    let id = agent_with_long_events(&ann, 4).await;
    let _stuck = follow_without_reading(&site, &id, &token).await;
    let path = format!("/v1/agents/{id}/events");
    let again = async { while ann.request(Method::GET, &path).send().await.unwrap().status() != 200 {} };
    tokio::time::timeout(PATIENCE, again).await.expect("its stream has ended");
}

#[tokio::test]
async fn a_long_event_reaches_a_live_follower() {
    let site = Site::open().await;
    let id = agent_with_long_events(&site, 0).await;
    let last = site.client().last_event(id.parse().unwrap()).await.unwrap();
    let mut stream = site.follow(&id, last).await;
    stream.until_caught_up().await;
    comment(&site, &id).await;
    let seen = stream.until(|frame| frame.event == "intervention").await;
    let text = |data: &Value| data["intervention"]["text"].as_str().map(str::len);
    assert_eq!(text(&seen.last().unwrap().data), Some(LONG));
}
