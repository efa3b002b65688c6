//! A request that is sent again happens once.

use std::time::Duration;

use entourage_engine::Retention;
use reqwest::Method;
use serde_json::{Value, json};

use crate::site::{Answer, Site, send};

async fn post(site: &Site, path: &str, key: &str, body: &Value) -> Answer {
    send(site.request(Method::POST, path).header("Idempotency-Key", key).json(body)).await
}

#[tokio::test]
async fn an_agent_is_made_once_per_key() {
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

/// Nothing is made anew under a key that was used, and it is said why there is nothing to answer with.
#[tokio::test]
async fn a_key_whose_agent_was_pruned_says_so() {
    let site = Site::open().await;
    let body = json!({"message": "hello"});
    let id = post(&site, "/v1/agents", "k", &body).await.expect(201)["id"].as_str().unwrap().to_owned();
    site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;
    let retention = Retention { trees: Some(Duration::from_micros(1)), ..Retention::default() };
    assert_eq!(site.house.prune(&retention).await.unwrap().trees, 1);
    let problem = post(&site, "/v1/agents", "k", &body).await.problem(404, "not-found");
    for part in [id.as_str(), "idempotency key", "pruned", "another key"] {
        assert!(problem.detail.contains(part), "{}", problem.detail);
    }
    assert_ne!(post(&site, "/v1/agents", "k2", &body).await.expect(201)["id"], id.as_str());
}

#[tokio::test]
async fn a_message_is_taken_once_per_key() {
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

#[tokio::test]
async fn an_intervention_happens_once_per_key() {
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

    // What is not possible twice is answered twice: a deletion is done, and so it was.
    let delete = json!({"action": "delete"});
    let gone = post(&site, &path, "d", &delete).await.expect(202);
    assert_eq!(post(&site, &path, "d", &delete).await.expect(202)["id"], gone["id"]);
    site.post(&path, &delete).await.problem(409, "agent-cancelled");
}

#[tokio::test]
async fn a_key_is_visible_ascii_and_neither_empty_nor_long() {
    let site = Site::open().await;
    let long = "k".repeat(256);
    for key in ["", "a b", long.as_str()] {
        post(&site, "/v1/agents", key, &json!({})).await.problem(400, "invalid-header");
    }
    post(&site, "/v1/agents", &"k".repeat(255), &json!({})).await.expect(201);
    let twice = site.request(Method::POST, "/v1/agents").header("Idempotency-Key", "a");
    send(twice.header("Idempotency-Key", "b").json(&json!({}))).await.problem(400, "invalid-header");
}
