//! Bodies that never arrive whole: they hold a bounded amount of memory, and keep no other client out.

use std::net::SocketAddr;

use entourage_server::Settings;
use futures::{StreamExt as _, stream::FuturesUnordered};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    auth::{self, token_of},
    site::Site,
    stream::within,
    webhooks,
};

/// How many bytes of its body each of the requests below announces, and how many it sends.
const ANNOUNCED: usize = 2_000_000;
const SENT: usize = 1_900_000;
/// How many such bodies the server holds for one owner or address: the large ones may have 24 MiB.
const HELD: usize = 12;
/// How many are sent.
const MANY: usize = 30;

/// Sends a head and a part of its body, and reads what is answered until the server disconnects. A refused client
/// may notice that while it still sends.
async fn answer(address: SocketAddr, head: String, sent: usize) -> String {
    let (mut read, mut write) = TcpStream::connect(address).await.unwrap().into_split();
    let body = vec![b' '; sent];
    let send = async {
        write.write_all(head.as_bytes()).await?;
        write.write_all(&body).await
    };
    let mut said = Vec::new();
    let _ = tokio::join!(send, read.read_to_end(&mut said));
    String::from_utf8(said).unwrap()
}

fn head(path: &str, headers: &str, announced: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}Content-Length: \
         {announced}\r\n\r\n"
    )
}

fn problem(said: &str) -> Value {
    serde_json::from_str(said.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

/// Sends more unfinished bodies than may be held. Asserts that the rest are refused, checks what is served
/// `meanwhile`, and then disconnects.
async fn attack(site: &Site, path: &str, headers: &str, whose: &str, meanwhile: impl AsyncFnOnce()) {
    let request = || answer(site.address, head(path, headers, ANNOUNCED), SENT);
    let mut all: FuturesUnordered<_> = (0..MANY).map(|_| request()).collect();
    for _ in HELD..MANY {
        let said = within("a body too many is refused", all.next()).await.unwrap();
        assert!(said.starts_with("HTTP/1.1 429"), "{said}");
        let detail = problem(&said)["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(whose) && detail.contains("32 MiB"), "{detail}");
    }
    within("others are served meanwhile", meanwhile()).await;
}

#[tokio::test]
async fn unfinished_bodies_of_one_owner_are_bounded_and_keep_no_other_out() {
    let site = Site::with(auth::settings()).await;
    let [ann, bob] = ["ann", "bob"].map(|owner| site.bearing(&token_of(owner)));
    let headers = format!("Authorization: Bearer {}\r\n", token_of("ann"));
    let (small, large) = (json!({}), json!({"message": "x".repeat(1 << 20)}));
    attack(&site, "/v1/agents", &headers, "your requests", async || {
        bob.post("/v1/agents", &large).await.expect(201);
        ann.post("/v1/agents", &small).await.expect(201);
    })
    .await;
    // The server notices that they are gone, and releases what they held: there is room for the same again.
    let finished = format!("{{}}{}", " ".repeat(ANNOUNCED));
    let many = async || {
        let posts = (0..HELD).map(|_| {
            let request = ann.request(reqwest::Method::POST, "/v1/agents");
            request.header("content-type", "application/json").body(finished.clone()).send()
        });
        let answers = futures::future::join_all(posts).await;
        answers.into_iter().all(|answer| answer.is_ok_and(|answer| answer.status() == 201))
    };
    within("all of it is released", async { while !many().await {} }).await;
}

#[tokio::test]
async fn unfinished_bodies_without_a_token_are_bounded_and_keep_no_other_out() {
    let settings = Settings { webhooks: webhooks::settings().webhooks, ..auth::settings() };
    let site = Site::with(settings).await;
    let headers = "webhook-id: msg_1\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,AAAA\r\n";
    attack(&site, "/webhook/orchestrator", headers, "from your address", async || {
        // It is read, and refused for what it says.
        let unknown = json!({"chat_id": "none"});
        webhooks::tell_as(&site, webhooks::KEY, "orchestrator", &unknown).await.problem(422, "invalid-body");
        let bob = site.bearing(&token_of("bob"));
        bob.post("/v1/agents", &json!({"message": "x".repeat(1 << 20)})).await.expect(201);
    })
    .await;
}

#[tokio::test]
async fn a_body_announced_as_too_large_is_refused_before_it_arrives() {
    let site = Site::open().await;
    let head = head("/v1/agents", "", 99_999_999_999);
    let said = within("an answer at once", answer(site.address, head, 1)).await;
    assert!(said.starts_with("HTTP/1.1 413"), "{said}");
    let problem = problem(&said);
    assert_eq!(problem["type"], "urn:entourage:problem:too-large");
    assert!(problem["detail"].as_str().unwrap().contains("at most 4194304 bytes"), "{problem}");
}

/// A body in chunks announces no length.
#[tokio::test]
async fn a_body_in_chunks_is_refused_at_the_limit() {
    let site = Site::with(Settings { body_limit: 100, ..Settings::default() }).await;
    let head = "POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\n\r\n1000\r\n";
    let said = within("an answer", answer(site.address, head.to_owned(), 101)).await;
    assert!(said.starts_with("HTTP/1.1 413"), "{said}");
}
