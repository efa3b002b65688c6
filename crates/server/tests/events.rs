//! The event stream: without gaps from any number on, live, and never held back.

use std::time::Duration;

use entourage_api::Event;
use entourage_server::Settings;
use reqwest::Method;
use serde_json::json;

use crate::{
    site::Site,
    stream::{Frame, Stream},
};

/// The events among frames, parsed; deltas are left out.
fn events(frames: &[Frame]) -> Vec<Event> {
    let facts = frames.iter().filter(|frame| frame.event != "delta");
    facts.map(|frame| serde_json::from_value(frame.data.clone()).expect("an event")).collect()
}

fn sent(stored: Vec<entourage_types::Event>) -> Vec<Event> {
    stored.into_iter().map(Event::from).collect()
}

#[tokio::test]
async fn a_stream_from_the_start_sends_every_event_without_a_gap() {
    let site = Site::open().await;
    let id = site.make("tell hello").await;
    let frames = site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;
    let facts: Vec<_> = frames.iter().filter(|frame| frame.event != "delta").collect();
    for (number, fact) in (1..).zip(&facts) {
        assert_eq!(fact.id, Some(number));
        assert_eq!((&fact.data["seq"], &fact.data["event"]), (&json!(number), &json!(fact.event)));
    }
    let stored = site.client().events(id.parse().unwrap(), 0, 1000).await.unwrap();
    assert_eq!(events(&frames), sent(stored));
}

#[tokio::test]
async fn a_client_that_reconnects_at_any_event_gets_each_event_exactly_once() {
    let site = Site::open().await;
    let id = site.done("tell note").await;
    let whole = sent(site.client().events(id.parse().unwrap(), 0, 1000).await.unwrap());
    let path = format!("/v1/agents/{id}/events");
    for cut in 0..whole.len() {
        let mut seen = Vec::new();
        let mut stream = site.follow(&id, 0).await;
        while seen.len() < cut {
            seen.push(stream.next().await.expect("an event"));
        }
        drop(stream);
        let mut again = site.request(Method::GET, &path);
        if let Some(last) = seen.last().and_then(|frame| frame.id) {
            again = again.header("Last-Event-ID", last);
        }
        seen.extend(Stream::open(again).await.until(|frame| frame.is_status_of(&id, "succeeded")).await);
        assert_eq!(events(&seen), whole, "cut after {cut}");
    }
}

#[tokio::test]
async fn the_stream_of_a_sub_agent_carries_the_events_of_the_whole_tree() {
    let site = Site::open().await;
    let id = site.done("tell hello").await;
    let tree = site.get(&format!("/v1/agents/{id}/tree")).await.expect(200);
    let child = tree["root"]["children"][0]["id"].as_str().unwrap();
    let first = site.follow(child, 0).await.next().await.unwrap();
    assert_eq!((&first.data["agent"], first.id), (&json!(id), Some(1)));
}

#[tokio::test]
async fn a_stream_sends_deltas_of_an_answer_without_an_event_number() {
    let site = Site::open().await;
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let mut stream = site.follow(&id, 0).await;
    stream.next().await.expect("the agent's making");
    site.post(&format!("/v1/agents/{id}/messages"), &json!({"text": "hello"})).await.expect(202);
    let frames = stream.until(|frame| frame.is_status_of(&id, "succeeded")).await;
    let delta = frames.iter().find(|frame| frame.event == "delta").expect("a piece");
    assert_eq!((delta.id, &delta.data["text"]), (None, &json!("You said: hello")));
    assert_eq!(delta.data["item_seq"], 1);
}

#[tokio::test]
async fn a_stream_is_neither_compressed_nor_buffered_nor_cached() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let request = site.request(Method::GET, &format!("/v1/agents/{id}/events"));
    let stream = Stream::open(request.header("accept-encoding", "gzip")).await;
    assert!(!stream.headers.contains_key("content-encoding"));
    assert_eq!(stream.headers["x-accel-buffering"], "no");
    assert_eq!(stream.headers["cache-control"], "no-cache");
}

#[tokio::test]
async fn an_idle_stream_sends_heartbeats() {
    let site = Site::with(Settings { heartbeat: Duration::from_millis(20), ..Settings::default() }).await;
    let id = site.done("hello").await;
    let last = site.client().events(id.parse().unwrap(), 0, 1000).await.unwrap().len();
    site.follow(&id, last as u64).await.heartbeat().await;
}

#[tokio::test]
async fn an_invalid_event_number_is_rejected() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let path = format!("/v1/agents/{id}/events");
    site.get(&format!("{path}?after=-1")).await.problem(400, "invalid-query");
    let request = site.request(Method::GET, &path).header("Last-Event-ID", "seven");
    crate::site::send(request).await.problem(400, "invalid-header");
}
