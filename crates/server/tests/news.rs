//! News of everything that an owner has: hints, merged, for that owner alone.

use std::time::Duration;

use entourage_engine::NodeSignal;
use entourage_server::Settings;
use reqwest::Method;
use serde_json::json;

use crate::{
    auth::{settings, token_of},
    site::{Site, send},
    stream::{Frame, Stream},
};

async fn news(site: &Site, query: &str) -> Stream {
    Stream::open(site.request(Method::GET, &format!("/v1/news{query}"))).await
}

/// Whether news say that this agent of its own tree has changed.
fn is_of(frame: &Frame, id: &str) -> bool {
    let trees = frame.data["trees"].as_array();
    frame.event == "news" && trees.is_some_and(|trees| trees.iter().any(|tree| tree["root"] == id))
}

#[tokio::test]
async fn news_name_the_tree_that_changed_its_last_event_and_its_agents() {
    let site = Site::open().await;
    let mut all = news(&site, "").await;
    let hello = all.next().await.unwrap();
    assert_eq!((&*hello.event, &hello.data["open_questions"]), ("hello", &json!(0)));
    let id = site.done("hello").await;
    let last = site.client().last_event(id.parse().unwrap()).await.unwrap();
    let seen = all.read_until(|frame| is_of(frame, &id) && frame.data["trees"][0]["seq"] == last).await;
    assert_eq!(seen.last().unwrap().data["trees"][0]["agents"], json!([id]));
    assert!(seen.len() <= 4, "hints of a moment come together: {seen:?}");
    assert!(seen.iter().all(|frame| frame.id.is_none()));
}

#[tokio::test]
async fn news_count_the_open_questions() {
    let site = Site::open().await;
    let mut all = news(&site, "").await;
    let (_, question) = site.asked("ask").await;
    all.read_until(|frame| frame.data["open_questions"] == 1).await;
    assert_eq!(news(&site, "").await.next().await.unwrap().data["open_questions"], 1);
    site.post(&format!("/v1/questions/{question}/answer"), &json!({"answer": "red"})).await.expect(200);
    all.read_until(|frame| frame.event == "news" && frame.data["open_questions"] == 0).await;
}

#[tokio::test]
async fn news_are_for_their_owner_alone() {
    let alice = Site::with(settings()).await.bearing(&token_of("alice"));
    let bob = alice.bearing(&token_of("bob"));
    let (mut hers, mut his) = (news(&alice, "").await, news(&bob, "").await);
    let id = alice.done("hello").await;
    let other = bob.done("hello").await;
    hers.read_until(|frame| is_of(frame, &id)).await;
    let seen = his.read_until(|frame| is_of(frame, &other)).await;
    assert!(seen.iter().all(|frame| !frame.data.to_string().contains(&id)), "{seen:?}");
    let foreign = bob.request(Method::GET, &format!("/v1/news?follow={id}"));
    send(foreign).await.problem(404, "not-found");
}

#[tokio::test]
async fn news_send_the_answer_in_progress_of_the_agent_that_is_followed() {
    let site = Site::open().await;
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let mut all = news(&site, &format!("?follow={id}")).await;
    let mut others = news(&site, "").await;
    site.post(&format!("/v1/agents/{id}/messages"), &json!({"text": "hello"})).await.expect(202);
    let seen = all.read_until(|frame| frame.event == "delta").await;
    assert_eq!(seen.last().unwrap().data["text"], "You said: hello");
    let seen = others.read_until(|frame| is_of(frame, &id)).await;
    assert!(seen.iter().all(|frame| frame.event != "delta"));
}

#[tokio::test]
async fn news_say_that_documents_changed_which_no_tree_tells_of() {
    let alice = Site::with(settings()).await.bearing(&token_of("alice"));
    let (mut hers, mut his) = (news(&alice, "").await, news(&alice.bearing(&token_of("bob")), "").await);
    let is_said = |frame: &Frame| frame.event == "news" && frame.data["documents"] == true;
    let project = alice.post("/v1/projects", &json!({ "name": "Rome" })).await.expect(201);
    hers.read_until(is_said).await;
    let path = format!("/v1/projects/{}/documents", project["id"].as_str().unwrap());
    let document = alice.post(&path, &json!({ "name": "Plan" })).await.expect(201);
    let seen = hers.read_until(is_said).await;
    assert_eq!(seen.last().unwrap().data["trees"], json!([]));
    let path = format!("/v1/documents/{}", document["id"].as_str().unwrap());
    let changed = alice.request(Method::PUT, &path).header("if-match", "*");
    send(changed.json(&json!({ "content": "Eat." }))).await.expect(200);
    hers.read_until(is_said).await;
    let deleted = send(alice.request(Method::DELETE, &path).header("if-match", "*")).await;
    assert_eq!(deleted.status, 204, "{}", deleted.text);
    hers.read_until(is_said).await;
    let other = alice.bearing(&token_of("bob")).done("hello").await;
    let seen = his.read_until(|frame| is_of(frame, &other)).await;
    assert!(!seen.iter().any(is_said), "{seen:?}");
}

#[tokio::test]
async fn news_that_were_lost_say_to_read_everything_again() {
    let site = Site::open().await;
    let mut all = news(&site, "").await;
    assert_eq!(all.next().await.unwrap().event, "hello");
    site.engine.on_signal(NodeSignal::Behind);
    let lost = all.next().await.unwrap();
    assert_eq!(lost.data, json!({ "trees": null, "server": [], "documents": false, "open_questions": 0 }));
    assert_eq!(lost.event, "news");
}

#[tokio::test]
async fn a_silent_stream_of_news_beats() {
    let site = Site::with(Settings { heartbeat: Duration::from_millis(20), ..Settings::default() }).await;
    news(&site, "").await.until(|frame| frame.event == "beat").await;
}
