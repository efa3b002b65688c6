//! Lists in parts: each entry once, newest first, whatever the size of the parts.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::site::Site;

async fn walk(site: &Site, path: &str, limit: usize) -> Vec<String> {
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let page = site.get(&format!("{path}limit={limit}{next}")).await.expect(200);
        let ids: Vec<_> =
            page["data"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
        assert!(ids.len() <= limit);
        seen.extend(ids.into_iter().map(str::to_owned));
        match &page["next_cursor"] {
            Value::String(cursor) => next = format!("&cursor={cursor}"),
            other => {
                assert_eq!(other, &Value::Null);
                return seen;
            }
        }
    }
}

#[tokio::test]
async fn agents_are_paged_newest_first_each_once() {
    let site = Site::open().await;
    let mut made = Vec::new();
    for n in 0..5 {
        let agent = site.post("/v1/agents", &json!({"title": format!("Agent {n}")})).await.expect(201);
        made.push(agent["id"].as_str().unwrap().to_owned());
    }
    made.reverse();
    for limit in [1, 2, 5, 200] {
        assert_eq!(walk(&site, "/v1/agents?", limit).await, made, "in parts of {limit}");
    }
}

#[tokio::test]
async fn agents_are_restricted_to_roots_and_to_a_status() {
    let site = Site::open().await;
    let id = site.done("tell hello").await;
    assert_eq!(walk(&site, "/v1/agents?", 50).await.len(), 2);
    assert_eq!(walk(&site, "/v1/agents?roots=true&", 50).await, [id]);
    assert_eq!(walk(&site, "/v1/agents?status=succeeded&", 1).await.len(), 2);
    assert_eq!(walk(&site, "/v1/agents?status=failed&", 1).await.len(), 0);
}

#[tokio::test]
async fn runs_questions_tasks_and_notes_are_paged_too() {
    let site = Site::open().await;
    let id = site.done("tell note").await;
    for text in ["tell note", "tell note"] {
        let stream = site.follow(&id, 0).await;
        let succeeded = std::cell::Cell::new(0);
        let before =
            site.get(&format!("/v1/agents/{id}/runs")).await.expect(200)["data"].as_array().unwrap().len();
        site.post(&format!("/v1/agents/{id}/messages"), &json!({ "text": text })).await.expect(202);
        stream
            .until(|frame| {
                succeeded.set(succeeded.get() + usize::from(frame.is_status_of(&id, "succeeded")));
                succeeded.get() > before
            })
            .await;
    }
    for path in
        [format!("/v1/agents/{id}/runs?"), format!("/v1/tasks?root={id}&"), format!("/v1/notes?root={id}&")]
    {
        let whole = walk(&site, &path, 200).await;
        assert_eq!((whole.len(), walk(&site, &path, 1).await), (3, whole), "{path}");
    }
    for _ in 0..2 {
        site.asked("ask").await;
    }
    let whole = walk(&site, "/v1/questions?status=open&", 200).await;
    assert_eq!((whole.len(), walk(&site, "/v1/questions?status=open&", 1).await), (2, whole));
}

#[tokio::test]
async fn a_cursor_of_ones_own_making_is_refused() {
    let site = Site::open().await;
    for cursor in ["!", "agt_1", &URL_SAFE_NO_PAD.encode("99:agt_1")] {
        site.get(&format!("/v1/agents?cursor={cursor}")).await.problem(400, "invalid-cursor");
    }
}
