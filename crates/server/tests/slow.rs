//! Readers that read nothing: they cost whoever works neither time nor memory, and get everything
//! once they do.

use std::fs;

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

/// What this process holds in memory, in bytes; none where nobody says.
fn memory() -> Option<usize> {
    let pages: usize = fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

/// Talks much with an agent; returns once all of it has been answered.
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

fn events(frames: &[Frame]) -> Vec<Event> {
    let facts = frames.iter().filter(|frame| frame.event != "delta");
    facts.map(|frame| serde_json::from_value(frame.data.clone()).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_read_nothing_hold_up_nobody_and_get_every_event_in_the_end() {
    let site = Site::open().await;
    // Once without them: what the house itself needs to say so much.
    let (alone, watched) = (site.done("hello").await, site.done("hello").await);
    let at_first = memory();
    talk(&site, &alone).await;
    let without = memory();
    let mut readers = Vec::new();
    for _ in 0..READERS {
        readers.push(site.follow(&watched, 0).await);
    }
    // All of it is said while nobody of them reads.
    talk(&site, &watched).await;
    let with = memory();
    if let (Some(at_first), Some(without), Some(with)) = (at_first, without, with) {
        let (own, theirs) = (without.saturating_sub(at_first), with.saturating_sub(without));
        let held_back = READERS * MESSAGES * 2 * SIZE;
        println!("{own} bytes without readers, {theirs} with; {held_back} were not read");
        assert!(theirs < own + held_back / 3, "{theirs} bytes with readers, {own} without");
    }

    let said = site.client().events(watched.parse().unwrap(), 0, 10_000).await.unwrap();
    let last = said.last().unwrap().seq;
    for (number, reader) in readers.into_iter().enumerate() {
        // Every other one comes back where it had been.
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
