//! A request that is sent again happens once.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{AcceptedMessage, ChatMessage, Client, Kinds, NewAgent, Retention};
use entourage_server::Settings;
use entourage_store::{Layered, MemoryStore, Store, StoreLayer};
use entourage_store_sqlite::SqliteStore;
use entourage_types::{Action, AgentId, Input, Kind, Owner, Time};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::site::{Answer, Site, engine, engine_of, send};

async fn post(site: &Site, path: &str, key: &str, body: &Value) -> Answer {
    send(site.request(Method::POST, path).header("Idempotency-Key", key).json(body)).await
}

#[tokio::test]
async fn an_agent_is_created_once_per_idempotency_key() {
    let site = Site::open().await;
    let body = json!({"message": "hello"});
    let (first, second) =
        tokio::join!(post(&site, "/v1/agents", "k1", &body), post(&site, "/v1/agents", "k1", &body));
    let third = post(&site, "/v1/agents", "k1", &body).await;
    assert_eq!(first.expect(201)["id"], second.expect(201)["id"]);
    assert_eq!(first.expect(201)["id"], third.expect(201)["id"]);
    assert_eq!(site.get("/v1/agents").await.expect(200)["data"].as_array().unwrap().len(), 1);

    post(&site, "/v1/agents", "k1", &json!({"message": "bye"})).await.problem(422, "key-reused");
    assert_ne!(post(&site, "/v1/agents", "k2", &body).await.expect(201)["id"], first.expect(201)["id"]);
}

/// A used key creates nothing new, and the problem says why there is nothing to return.
#[tokio::test]
async fn a_repeated_key_of_a_pruned_agent_returns_404_with_the_reason() {
    let site = Site::open().await;
    let body = json!({"message": "hello"});
    let id = post(&site, "/v1/agents", "k", &body).await.expect(201)["id"].as_str().unwrap().to_owned();
    site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;
    let retention = Retention { trees: Some(Duration::from_micros(1)), ..Retention::default() };
    assert_eq!(site.engine.prune(&retention).await.unwrap().trees, 1);
    let problem = post(&site, "/v1/agents", "k", &body).await.problem(404, "not-found");
    for part in [id.as_str(), "idempotency key", "pruned", "another key"] {
        assert!(problem.detail.contains(part), "{}", problem.detail);
    }
    assert_ne!(post(&site, "/v1/agents", "k2", &body).await.expect(201)["id"], id.as_str());
}

#[tokio::test]
async fn a_message_is_posted_once_per_idempotency_key() {
    let site = Site::open().await;
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/agents/{id}/messages");
    let first = post(&site, &path, "k", &json!({"text": "hello"})).await.expect(202);
    assert_eq!(post(&site, &path, "k", &json!({"text": "hello"})).await.expect(202), first);
    post(&site, &path, "k", &json!({"text": "bye"})).await.problem(422, "key-reused");

    site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;
    let entries = site.get(&path).await.expect(200);
    assert_eq!(entries["data"].as_array().unwrap().len(), 2, "one message and its answer");
}

/// A server that was killed before it responded has accepted the message all the same.
#[tokio::test]
async fn a_message_repeated_under_its_key_is_accepted_by_a_busy_agent() {
    let kind = Kind { instructions: "Do as asked.".into(), input: Input::Refuse, ..Kind::bare("assistant") };
    let site = Site::of_kinds(Kinds::none().with(kind)).await;
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/agents/{id}/messages");
    let body = json!({"message": "ask"});
    let first = post(&site, &path, "k", &body).await.expect(202);
    site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "waiting")).await;
    assert_eq!(post(&site, &path, "k", &body).await.expect(202), first);
    post(&site, &path, "other", &body).await.problem(409, "not-now");

    site.post(&format!("/v1/agents/{id}/interventions"), &json!({"action": "delete"})).await.expect(202);
    assert_eq!(post(&site, &path, "k", &body).await.expect(202), first);
    post(&site, &path, "other", &body).await.problem(409, "agent-cancelled");
}

fn speech() -> ChatMessage {
    ChatMessage { chat: "c".into(), to: "assistant".into(), text: "hello".into(), ..ChatMessage::default() }
}

/// A server may restart with other kinds.
#[tokio::test]
async fn a_repeated_key_returns_the_same_response_after_kinds_change() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().unwrap());
    let body = json!({"message": "hello"});
    let site = Site::at_rest(Arc::clone(&store), Settings::default()).await;
    let made = post(&site, "/v1/agents", "k", &body).await.expect(201);
    let said = site.client().speak(speech(), Some("s")).await.unwrap();

    let site = Site::serving(engine_of(store, Kinds::none()), Settings::default()).await;
    post(&site, "/v1/agents", "other", &body).await.problem(422, "unknown-kind");
    assert_eq!(post(&site, "/v1/agents", "k", &body).await.expect(201)["id"], made["id"]);
    let again = site.client().speak(speech(), Some("s")).await.unwrap();
    assert_eq!(again, AcceptedMessage { again: true, ..said });
}

#[tokio::test]
async fn an_intervention_is_applied_once_per_idempotency_key() {
    let site = Site::open().await;
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/agents/{id}/interventions");
    let steer = json!({"action": "steer", "text": "hello"});
    let (first, second) = tokio::join!(post(&site, &path, "k", &steer), post(&site, &path, "k", &steer));
    let third = post(&site, &path, "k", &steer).await.expect(202);
    assert_eq!(first.expect(202)["id"], third["id"]);
    assert_eq!(second.expect(202)["id"], third["id"]);
    assert_eq!(site.get(&path).await.expect(200)["data"].as_array().unwrap().len(), 1);
    post(&site, &path, "k", &json!({"action": "steer", "text": "bye"})).await.problem(422, "key-reused");

    // An action that is not possible twice still gets the same response twice: the deletion was done.
    let delete = json!({"action": "delete"});
    let gone = post(&site, &path, "d", &delete).await.expect(202);
    assert_eq!(post(&site, &path, "d", &delete).await.expect(202)["id"], gone["id"]);
    site.post(&path, &delete).await.problem(409, "agent-cancelled");
}

#[tokio::test]
async fn an_idempotency_key_must_be_short_nonempty_visible_ascii() {
    let site = Site::open().await;
    let long = "k".repeat(256);
    for key in ["", "a b", long.as_str()] {
        post(&site, "/v1/agents", key, &json!({})).await.problem(400, "invalid-header");
    }
    post(&site, "/v1/agents", &"k".repeat(255), &json!({})).await.expect(201);
    let twice = site.request(Method::POST, "/v1/agents").header("Idempotency-Key", "a");
    send(twice.header("Idempotency-Key", "b").json(&json!({}))).await.problem(400, "invalid-header");
}

/// Passes on `after` calls of the store, and holds the next one up until it may continue.
#[derive(Clone)]
struct HoldOneCall {
    after: Arc<AtomicI64>,
    has_come: Arc<Semaphore>,
    may_go_on: Arc<Semaphore>,
}

#[async_trait]
impl StoreLayer for HoldOneCall {
    async fn pass(&self) -> entourage_store::Result<()> {
        if self.after.fetch_sub(1, Ordering::SeqCst) == 0 {
            self.has_come.add_permits(1);
            self.may_go_on.acquire().await.unwrap().forget();
        }
        Ok(())
    }
}

/// Sends a request twice at the same time. One of the two is held up until the other is done, at each of its
/// store calls in turn.
async fn assert_takes_effect_once(request: impl AsyncFn(Client, AgentId) -> String) {
    for after in 0.. {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let none = || Arc::new(Semaphore::new(0));
        let holds_up =
            HoldOneCall { after: Arc::new(AtomicI64::new(after)), has_come: none(), may_go_on: none() };
        let slow = engine(Arc::new(Layered::new(Arc::clone(&store), holds_up.clone())));
        let quick = engine(Arc::clone(&store)).client(Owner::local());
        let agent = quick.create(NewAgent::default(), None).await.unwrap().id;
        let mut slow = pin!(request(slow.client(Owner::local()), agent));
        tokio::select! {
            biased;
            _ = &mut slow => {
                assert!(after > 1, "it was never held up");
                return;
            }
            has_come = holds_up.has_come.acquire() => has_come.unwrap().forget(),
        }
        let first = request(quick, agent).await;
        holds_up.may_go_on.add_permits(1);
        assert_eq!(slow.await, first, "held up after {after} calls");
        let due = store.due(Time::from_micros(i64::MAX), None, 10).await.unwrap();
        assert_eq!(due.len(), 1, "held up after {after} calls");
    }
}

#[tokio::test]
async fn two_concurrent_requests_with_one_key_take_effect_once() {
    assert_takes_effect_once(async |client: Client, _| {
        let new = NewAgent { message: Some("hello".into()), ..NewAgent::default() };
        client.create(new, Some("k")).await.unwrap().id.to_string()
    })
    .await;
    assert_takes_effect_once(async |client: Client, agent| {
        client.send(agent, "hello", Some("k")).await.unwrap().post.to_string()
    })
    .await;
    assert_takes_effect_once(async |client: Client, agent| {
        client.tell(agent, "hello", Some("k")).await.unwrap().post.to_string()
    })
    .await;
    assert_takes_effect_once(async |client: Client, agent| {
        client.intervene_once(agent, Action::Steer, Some("hello"), Some("k")).await.unwrap().id.to_string()
    })
    .await;
    assert_takes_effect_once(async |client: Client, _| {
        client.speak(speech(), Some("k")).await.unwrap().post.to_string()
    })
    .await;
}
