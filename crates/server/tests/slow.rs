//! Clients that do not read their streams: they delay no agent, cost few reads, and get everything once they
//! read.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use entourage_server::Settings;
use entourage_store::{Layered, StoreLayer};
use entourage_store_sqlite::SqliteStore;
use entourage_types::Event;
use reqwest::Method;
use serde_json::json;

use crate::{
    site::Site,
    stream::{Frame, Stream},
};

const READERS: usize = 12;
const MESSAGES: usize = 25;
/// The bytes of one message; the answer repeats it.
const SIZE: usize = 100_000;

/// CountsEventsRead the events that are read.
struct CountsEventsRead(Arc<AtomicUsize>);

impl StoreLayer for CountsEventsRead {
    fn events(&self, events: Vec<Event>) -> Vec<Event> {
        self.0.fetch_add(events.len(), Ordering::Relaxed);
        events
    }
}

/// Sends many messages to an agent; returns once all have been answered.
async fn talk(site: &Site, id: &str) {
    let mut last = 0;
    for number in 0..=MESSAGES {
        let seen = site.follow(id, last).await.until(|frame| frame.is_status_of(id, "succeeded")).await;
        last = seen.last().and_then(|frame| frame.id).unwrap();
        if number < MESSAGES {
            let text = format!("{number} {}", "x".repeat(SIZE));
            site.post(&format!("/v1/agents/{id}/messages"), &json!({ "text": text })).await.expect(202);
        }
    }
}

fn events(frames: &[Frame]) -> Vec<entourage_api::Event> {
    let facts = frames.iter().filter(|frame| frame.event != "delta");
    facts.map(|frame| serde_json::from_value(frame.data.clone()).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_do_not_read_delay_no_agent_and_get_every_event_later() {
    let read = Arc::new(AtomicUsize::new(0));
    let store =
        Layered::new(Arc::new(SqliteStore::in_memory().unwrap()), CountsEventsRead(Arc::clone(&read)));
    let site = Site::over(Arc::new(store), Settings::default()).await;
    let (alone, watched) = (site.done("hello").await, site.done("hello").await);
    // Once without readers: what is read for the talking client alone.
    talk(&site, &alone).await;
    let without = read.swap(0, Ordering::Relaxed);
    let mut readers = Vec::new();
    for _ in 0..READERS {
        readers.push(site.follow(&watched, 0).await);
    }
    // All messages are sent while none of the clients reads.
    talk(&site, &watched).await;
    let with = read.load(Ordering::Relaxed);
    let said = site.client().events(watched.parse().unwrap(), 0, 10_000).await.unwrap();
    let last = said.last().unwrap().seq;
    let said: Vec<_> = said.into_iter().map(entourage_api::Event::from).collect();
    let held_back = READERS * said.len();
    println!("{with} events read with readers, {without} without; {held_back} were not taken");
    assert!(with < without + held_back / 3, "{with} events with readers, {without} without; {held_back}");

    for (number, reader) in readers.into_iter().enumerate() {
        // Every other client reconnects and resumes in the middle.
        if number % 2 == 0 {
            assert_eq!(events(&reader.until(|frame| frame.id == Some(last)).await), said);
        } else {
            let mut seen = reader.until(|frame| frame.id == Some(last / 2)).await;
            let path = format!("/v1/agents/{watched}/events");
            let again = site.request(Method::GET, &path).header("Last-Event-ID", last / 2);
            seen.extend(Stream::open(again).await.until(|frame| frame.id == Some(last)).await);
            assert_eq!(events(&seen), said);
        }
    }
}
