//! A client that wants everything at once gets it in parts, and what it sends is refused where it is
//! too long.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use entourage_server::Settings;
use entourage_store::{Between, Error, MemoryStore, Through};
use entourage_store_sqlite::SqliteStore;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream, sync::Notify};

use crate::{
    agencies::desk,
    site::{Site, send},
};

/// As much as a page has, with the entry that passes it and what JSON puts around it.
const MOST: usize = 2 << 20;

/// All pages of a list: their entries, and the bytes of the longest.
async fn walk(site: &Site, path: &str) -> (Vec<Vec<Value>>, usize) {
    let (mut pages, mut longest, mut next) = (Vec::new(), 0, String::new());
    loop {
        let answer = site.get(&format!("{path}?limit=200{next}")).await;
        longest = longest.max(answer.text.len());
        let page = answer.expect(200);
        pages.push(page["data"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => return (pages, longest),
        }
    }
}

#[tokio::test]
async fn a_list_of_long_entries_comes_in_parts_of_bounded_bytes() {
    let site = Site::open().await;
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/agents/{id}/interventions");
    for number in 0..7 {
        let text = format!("{number}{}", "x".repeat(400_000));
        site.post(&path, &json!({"action": "comment", "text": text})).await.expect(202);
    }
    let (pages, longest) = walk(&site, &path).await;
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
    assert!(longest < MOST, "{longest} bytes");
    let first = |entry: &Value| entry["text"].as_str().unwrap().chars().next().unwrap();
    assert_eq!(pages.iter().flatten().map(first).collect::<String>(), "6543210");
}

#[tokio::test]
async fn a_long_conversation_comes_in_parts_and_whole() {
    let site = Site::open().await;
    let (mut id, mut last) = (String::new(), 0);
    for number in 0..4 {
        let message = format!("{number}{}", "x".repeat(400_000));
        if number == 0 {
            id = site.make(&message).await;
        } else {
            site.post(&format!("/v1/agents/{id}/messages"), &json!({"message": message})).await.expect(202);
        }
        let seen = site.follow(&id, last).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;
        last = seen.last().and_then(|frame| frame.id).unwrap();
    }
    let (mut pages, longest) = walk(&site, &format!("/v1/agents/{id}/messages")).await;
    assert!(longest < MOST, "{longest} bytes");
    pages.reverse();
    let beginning =
        |entry: &Value| entry["text"].as_str().unwrap().trim_start_matches("You said: ")[..1].to_owned();
    assert_eq!(pages.iter().flatten().map(beginning).collect::<String>(), "00112233");

    // The transcript as the agent has it: a part without items is its end.
    let (mut from, mut seen) = (0, 0);
    loop {
        let answer = site.get(&format!("/v1/agents/{id}/items?limit=200&from={from}")).await;
        assert!(answer.text.len() < MOST, "{} bytes", answer.text.len());
        let part = answer.expect(200);
        from = part["next_from"].as_u64().unwrap();
        let items = part["data"].as_array().unwrap();
        if items.is_empty() {
            break;
        }
        let is_said = |item: &&Value| ["message", "turn"].contains(&item["type"].as_str().unwrap());
        seen += items.iter().filter(is_said).count();
    }
    assert_eq!(seen, 8);
}

#[tokio::test]
async fn a_name_that_is_too_long_is_refused_and_not_repeated() {
    let site = desk().await;
    let long = "n".repeat(100_000);
    let say = |field: &str| json!({"message": "hello", field: long});
    for (path, body) in [
        ("/v1/agents", say("title")),
        ("/v1/agents", say("kind")),
        ("/api/chats", say("title")),
        ("/v1/agencies/desk/responses", say("chat_id")),
        ("/v1/agencies/desk/responses", say("agent")),
        ("/v1/agencies/desk/responses", say("sender_name")),
        ("/v1/agencies/desk/responses", say("response_validator")),
    ] {
        let answer = send(site.request(Method::POST, path).json(&body)).await;
        answer.problem(422, "invalid-request");
        assert!(answer.text.len() < 1_000, "{path}: {} bytes", answer.text.len());
    }
}

#[tokio::test]
async fn an_agent_that_does_not_read_is_given_no_more_than_it_can_hold() {
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let site = Site::at_rest(store, Settings::default()).await;
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let (messages, long) = (format!("/v1/agents/{id}/messages"), json!({"message": "x".repeat(1 << 20)}));
    for _ in 0..16 {
        site.post(&messages, &long).await.expect(202);
    }
    let refused = site.post(&messages, &json!({"message": "one more"})).await.problem(409, "not-now");
    assert!(refused.detail.contains("too much waits"), "{}", refused.detail);
    // What people see of it is bounded, too, and it can still be stopped.
    assert!(site.get(&messages).await.text.len() < MOST);
    let stop = json!({"action": "delete"});
    site.post(&format!("/v1/agents/{id}/interventions"), &stop).await.expect(202);
}

/// Tells when it is dropped.
struct Leaves(Arc<Notify>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// A store that never answers, and tells when it is asked and when nobody waits for that any more.
struct Endless {
    asked: Arc<Notify>,
    left: Arc<Notify>,
}

#[async_trait]
impl Between for Endless {
    async fn pass(&self) -> Result<(), Error> {
        let _leaves = Leaves(Arc::clone(&self.left));
        self.asked.notify_one();
        std::future::pending().await
    }
}

/// What a client no longer waits for is not read to its end: the read is dropped, which interrupts it.
#[tokio::test]
async fn a_client_that_hangs_up_ends_its_read() {
    let (asked, left) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let endless = Endless { asked: Arc::clone(&asked), left: Arc::clone(&left) };
    let store = Through::new(Arc::new(MemoryStore::default()), endless);
    let site = Site::at_rest(Arc::new(store), Settings::default()).await;
    let mut client = TcpStream::connect(site.address).await.unwrap();
    client.write_all(b"GET /v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await.unwrap();
    let soon = |what: &'static str, told: Arc<Notify>| async move {
        tokio::time::timeout(Duration::from_secs(20), told.notified()).await.expect(what);
    };
    soon("the store is asked", asked).await;
    drop(client);
    soon("the read ends with whoever wanted it", left).await;
}
