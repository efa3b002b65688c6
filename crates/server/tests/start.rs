//! Starting and stopping: no request is cut off, and none delays the end beyond its grace.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_llm::{Deltas, Model, Reply, Request};
use entourage_server::Settings;
use entourage_store::{Commit, Committed, Layered, Store, StoreLayer};
use entourage_store_sqlite::SqliteStore;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Semaphore,
};

use crate::{
    agencies::{self, RESPONSES},
    site::{Site, asking, engine_of, send},
};

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request to create an agent whose last byte is still to come.
pub(crate) async fn unfinished(site: &Site) -> (TcpStream, u8) {
    let body = json!({"title": "late"}).to_string();
    let mut socket = TcpStream::connect(site.address).await.unwrap();
    let (begun, last) = body.split_at(body.len() - 1);
    let head = format!(
        "POST /v1/agents HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         expect: 100-continue\r\n\r\n",
        site.address,
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    // The server asks for the body once a handler waits for it, so the request is under way now.
    let mut asked = [0; 25];
    socket.read_exact(&mut asked).await.unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(begun.as_bytes()).await.unwrap();
    (socket, last.as_bytes()[0])
}

#[tokio::test]
async fn a_stopping_server_ends_open_streams_without_waiting() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let mut stream = site.follow(&id, 0).await;
    assert!(stream.next().await.is_some());
    site.stop.cancel();
    let ends = async { while stream.next().await.is_some() {} };
    tokio::time::timeout(PATIENCE, ends).await.expect("the stream ends");
    // The default grace is longer than the time a test waits for anything else.
    tokio::time::timeout(Duration::from_secs(5), site.served).await.expect("an end").unwrap().unwrap();
}

/// Waits until no connection is accepted any more.
async fn wait_until_connections_are_refused(site: &Site) {
    for _ in 0..1000 {
        if TcpStream::connect(site.address).await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("new connections are taken after the end");
}

#[tokio::test]
async fn a_stopping_server_answers_requests_in_progress() {
    let site = Site::open().await;
    let (mut socket, last) = unfinished(&site).await;
    site.stop.cancel();
    wait_until_connections_are_refused(&site).await;
    socket.write_all(&[last]).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(PATIENCE, socket.read_to_string(&mut answer)).await.expect("an answer").unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    tokio::time::timeout(PATIENCE, site.served).await.expect("an end").unwrap().unwrap();
}

#[tokio::test]
async fn the_server_stops_after_the_grace_despite_an_unfinished_request() {
    let site = Site::with(Settings { grace: Duration::from_millis(50), ..Settings::default() }).await;
    let (mut socket, _) = unfinished(&site).await;
    site.stop.cancel();
    tokio::time::timeout(PATIENCE, site.served).await.expect("an end").unwrap().unwrap();
    // Its connection is closed without an answer.
    let mut answer = Vec::new();
    let closed = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut answer)).await.expect("a close");
    assert!(matches!(closed, Ok(0) | Err(_)), "{}", String::from_utf8_lossy(&answer));
}

/// HoldCommits commits from when `begins` is set until `let_go` has permits.
#[derive(Clone)]
struct HoldCommits {
    begins: Arc<AtomicBool>,
    have_come: Arc<Semaphore>,
    let_go: Arc<Semaphore>,
}

#[async_trait]
impl StoreLayer for HoldCommits {
    async fn commit(
        &self,
        store: &Arc<dyn Store>,
        commit: Commit,
    ) -> Result<Committed, entourage_store::Error> {
        if self.begins.load(Ordering::SeqCst) {
            self.have_come.add_permits(1);
            self.let_go.acquire().await.unwrap().forget();
        }
        store.commit(commit).await
    }
}

/// Requests that are in the middle of their work when the whole engine stops are completed and answered as
/// any other, including deletions of agents. Their connections accept no further request.
#[tokio::test]
async fn requests_in_the_middle_of_a_commit_complete_when_the_engine_stops() {
    let none = || Arc::new(Semaphore::new(0));
    let holds = HoldCommits { begins: Arc::default(), have_come: none(), let_go: none() };
    let store = Layered::new(Arc::new(SqliteStore::in_memory().unwrap()), holds.clone());
    let site = Site::at_rest(Arc::new(store), Settings::default()).await;
    let [told, paused, deleted] = [site.make("one").await, site.make("two").await, site.make("three").await];
    holds.begins.store(true, Ordering::SeqCst);
    let requests = [
        ("/v1/agents".to_owned(), json!({"title": "late"}), 201),
        (format!("/v1/agents/{told}/messages"), json!({"message": "and more"}), 202),
        (format!("/v1/agents/{paused}/interventions"), json!({"action": "pause"}), 202),
        (format!("/v1/agents/{deleted}/interventions"), json!({"action": "delete"}), 202),
    ];
    let mut sockets = Vec::new();
    for (path, body, status) in &requests {
        let (host, body) = (site.address, body.to_string());
        let length = body.len();
        let next = format!("GET /v1/agents HTTP/1.1\r\nhost: {host}\r\n\r\n");
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}{next}"
        );
        let mut socket = TcpStream::connect(site.address).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        sockets.push((socket, path, status));
    }
    let all = u32::try_from(requests.len()).unwrap();
    tokio::time::timeout(PATIENCE, holds.have_come.acquire_many(all))
        .await
        .expect("they come")
        .unwrap()
        .forget();
    site.engine.stopping().cancel();
    site.stop.cancel();
    wait_until_connections_are_refused(&site).await;
    holds.let_go.add_permits(1_000);
    for (mut socket, path, status) in sockets {
        let mut answer = String::new();
        let answered = socket.read_to_string(&mut answer);
        tokio::time::timeout(PATIENCE, answered).await.expect("an answer").unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{path}: {answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str::<Value>(body).expect("the whole of it");
    }
    let gone = site.client().agent(deleted.parse().unwrap()).await.unwrap();
    assert_eq!(gone.status, entourage_types::Status::Cancelled);
    tokio::time::timeout(PATIENCE, site.served).await.expect("an end").unwrap().unwrap();
}

/// A model whose answers never end.
pub(crate) struct Endless(pub(crate) Arc<Semaphore>);

#[async_trait]
impl Model for Endless {
    async fn call(&self, _: Request, _: &mut dyn Deltas) -> entourage_llm::Result<Reply> {
        self.0.add_permits(1);
        std::future::pending().await
    }

    fn describe(&self) -> String {
        "a model that comes to no end".into()
    }
}

/// A client that waits for an agency's answer while the server stops gets a problem that says to ask again.
/// The server disconnected, not the client, so the message is not withdrawn, and is answered after the next
/// start.
#[tokio::test]
async fn a_restarted_server_answers_a_message_that_the_stop_interrupted() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().unwrap());
    let begun = Arc::new(Semaphore::new(0));
    let endless = Arc::new(Endless(Arc::clone(&begun)));
    let engine = asking(endless, Arc::clone(&store), agencies::kinds());
    let site = Site::serving(engine, Settings::default()).await;
    site.work();
    let said = json!({"message": "hello", "chat_id": "first", "detached": false});
    let say = |site: &Site| {
        send(site.request(Method::POST, RESPONSES).header("idempotency-key", "once").json(&said))
    };
    let waits = tokio::spawn(say(&site));
    tokio::time::timeout(PATIENCE, begun.acquire()).await.expect("a model is asked").unwrap().forget();
    site.engine.stopping().cancel();
    site.stop.cancel();
    let told = tokio::time::timeout(PATIENCE, waits).await.expect("an answer").unwrap();
    let problem = told.problem(503, "shutting-down");
    assert!(problem.detail.contains("answered after the next start"), "{}", problem.detail);
    assert_eq!(told.headers["retry-after"], "2");
    tokio::time::timeout(PATIENCE, site.served).await.expect("an end").unwrap().unwrap();

    let site = Site::serving(engine_of(store, agencies::kinds()), Settings::default()).await;
    site.work();
    let answer = tokio::time::timeout(PATIENCE, say(&site)).await.expect("an answer").expect(200);
    assert_eq!(answer["final_output"], "You said: hello");
    let threads = site.get("/v1/agencies/desk/chats/first/threads").await.expect(200);
    assert_eq!(threads["data"][0]["items"], 2, "it was said once, and answered once");
}
