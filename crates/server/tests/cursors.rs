//! Cursors that lead nowhere: refused with what to do, before a stream begins, and so by a page of events.

use std::time::Duration;

use entourage_engine::Retention;
use reqwest::Method;
use serde_json::json;

use crate::site::{Answer, Site, send};

/// A page of events.
async fn page(site: &Site, path: &str) -> Answer {
    send(site.request(Method::GET, path).header("accept", "application/json")).await
}

#[tokio::test]
async fn a_cursor_into_pruned_events_is_refused_with_the_number_to_resume_at() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let path = format!("/v1/agents/{id}/events");
    let whole = site.client().events(id.parse().unwrap(), 0, 1000).await.unwrap();
    let retention = Retention { events: Some(Duration::from_micros(1)), ..Retention::default() };
    assert_eq!(site.engine.prune(&retention).await.unwrap().events, whole.len() as u64 - 1);
    let last = whole.len() as u64;

    for gone in [0, 1, last - 2] {
        let problem = site.get(&format!("{path}?after={gone}")).await.problem(410, "cursor-gone");
        assert!(problem.is_cursor_gone());
        assert!(
            problem.detail.contains(&format!("continue after number {}", last - 1)),
            "{}",
            problem.detail
        );
        let request = site.request(Method::GET, &path).header("Last-Event-ID", gone);
        send(request).await.problem(410, "cursor-gone");
        let of_page = page(&site, &format!("{path}?after={gone}")).await.problem(410, "cursor-gone");
        assert_eq!(of_page.detail, problem.detail);
        // Backwards the events are gone from the next one on.
        let before = page(&site, &format!("{path}?before={}", gone + 1)).await;
        assert_eq!(before.problem(410, "cursor-gone").detail, problem.detail);
    }
    let rest = page(&site, &format!("{path}?after={}", last - 1)).await.expect(200);
    assert_eq!((&rest["data"][0]["seq"], &rest["first"]), (&json!(last), &json!(last)));
    let none = page(&site, &format!("{path}?before={last}")).await.expect(200);
    assert_eq!(
        (&none["data"], &none["earlier"], &none["later"]),
        (&json!([]), &json!(null), &json!(last - 1))
    );
    // A client that saw all pruned events has missed none, and a client without a number asks for none of
    // them.
    for begin in [format!("{path}?after={}", last - 1), path.clone()] {
        let mut stream = crate::stream::Stream::open(site.request(Method::GET, &begin)).await;
        assert_eq!(stream.next().await.unwrap().id, Some(last));
    }
    // Numbers continue, whatever pieces of the answer come first, and the transcript is unchanged.
    site.post(&format!("/v1/agents/{id}/messages"), &json!({"text": "again"})).await.expect(202);
    let told = site.follow(&id, last).await.until(|frame| frame.id.is_some()).await;
    assert_eq!(told.last().unwrap().id, Some(last + 1));
    let said = site.get(&format!("/v1/agents/{id}/messages")).await.expect(200);
    assert_eq!(said["data"][0]["text"], "hello");
}

#[tokio::test]
async fn a_cursor_after_the_last_event_is_refused() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let last = site.client().events(id.parse().unwrap(), 0, 1000).await.unwrap().len() as u64;
    let path = format!("/v1/agents/{id}/events");
    for ahead in [last + 1, u64::MAX] {
        let after = format!("{path}?after={ahead}");
        let problem = site.get(&after).await.problem(410, "cursor-gone");
        assert!(problem.is_cursor_gone());
        assert!(problem.detail.contains("restored from a backup"), "{}", problem.detail);
        for of_some in ["", "&event=item"] {
            let of_page = page(&site, &format!("{after}{of_some}")).await.problem(410, "cursor-gone");
            assert_eq!(of_page.detail, problem.detail);
        }
        // There are last events before any number.
        let latest = page(&site, &format!("{path}?before={ahead}&limit=1")).await.expect(200);
        assert_eq!(latest["data"][0]["seq"], json!(last));
    }
    let none = page(&site, &format!("{path}?after={last}")).await.expect(200);
    assert_eq!((&none["data"], &none["later"]), (&json!([]), &json!(null)));
}

#[tokio::test]
async fn a_stream_reports_when_it_has_caught_up() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let last = site.client().events(id.parse().unwrap(), 0, 1000).await.unwrap().len() as u64;
    for after in [0, 2, last] {
        let mut stream = site.follow(&id, after).await;
        for number in after + 1..=last {
            assert_eq!(stream.next().await.unwrap().id, Some(number));
        }
        stream.until_caught_up().await;
        assert_eq!(stream.caught_up, Some(last), "after {after}");
    }
}

#[tokio::test]
async fn a_page_cursor_of_a_pruned_agent_is_refused() {
    let site = Site::open().await;
    site.done("hello").await;
    site.done("hello").await;
    let page = site.get("/v1/agents?limit=1").await.expect(200);
    let next = format!("/v1/agents?limit=1&cursor={}", page["next_cursor"].as_str().unwrap());
    site.get(&next).await.expect(200);
    let retention = Retention { trees: Some(Duration::from_micros(1)), ..Retention::default() };
    assert_eq!(site.engine.prune(&retention).await.unwrap().trees, 2);
    let problem = site.get(&next).await.problem(410, "entry-gone");
    assert!(!problem.is_cursor_gone());
    assert!(problem.detail.contains("begin with the first page"), "{}", problem.detail);
}
