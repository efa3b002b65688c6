//! What a model received, over HTTP.

use std::sync::Arc;

use entourage_engine::Kinds;
use entourage_llm::{Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_types::Kind;
use serde_json::{Value, json};

use crate::site::{Site, asking};

#[tokio::test]
async fn a_request_is_shown_as_the_model_received_it_with_its_proof() {
    let site = Site::open().await;
    let agent = site.done("hello").await;
    let runs = site.get(&format!("/v1/agents/{agent}/runs")).await.expect(200);
    let run = runs["data"][0]["id"].as_str().expect("an id").to_owned();
    let request = site.get(&format!("/v1/runs/{run}/requests/1")).await.expect(200);
    assert_eq!(
        (&request["exact"], &request["number"], &request["doubt"]),
        (&json!(true), &json!(1), &Value::Null)
    );
    assert_eq!(request["asked"]["sha256"].as_str().map(str::len), Some(64), "{request}");
    let messages = request["messages"].as_array().expect("messages");
    let last = messages.last().expect("a message");
    assert_eq!((&last["role"], &last["text"]), (&json!("user"), &json!("hello")), "{request}");
    assert!(request["system"].as_str().is_some_and(|text| !text.is_empty()) && request["tools"].is_array());
    let steps = site.get(&format!("/v1/runs/{run}/steps")).await.expect(200);
    assert_eq!(steps["data"][0]["asked"], request["asked"]);
    for unknown in ["0", "2", "x"] {
        site.get(&format!("/v1/runs/{run}/requests/{unknown}")).await.problem(404, "not-found");
    }
    let item = request["item"].as_u64().expect("a number");
    let of_item = site.get(&format!("/v1/agents/{agent}/items/{item}/request")).await.expect(200);
    assert_eq!(of_item, request);
    for unknown in ["0", "99", "x"] {
        site.get(&format!("/v1/agents/{agent}/items/{unknown}/request")).await.problem(404, "not-found");
    }
}

/// Sends a message and waits until the agent has answered it.
async fn say(site: &Site, id: &str, text: &str) {
    let last = site.client().events(id.parse().unwrap(), 0, 10_000).await.unwrap().last().unwrap().seq;
    site.post(&format!("/v1/agents/{id}/messages"), &json!({ "message": text })).await.expect(202);
    site.follow(id, last).await.until(|frame| frame.is_status_of(id, "succeeded")).await;
}

/// The items of an agent that are turns or digests, oldest first.
async fn turns_and_digests(site: &Site, id: &str) -> Vec<Value> {
    let items = site.get(&format!("/v1/agents/{id}/items?limit=200")).await.expect(200);
    let items = items["data"].as_array().unwrap().iter();
    items.filter(|item| item["type"] == "turn" || item["type"] == "digest").cloned().collect()
}

#[tokio::test]
async fn a_request_says_that_a_digest_broke_its_prefix_and_otherwise_that_nothing_did() {
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("So it is.")))).with_window(4_096);
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let kinds = Kinds::none().with(Kind::bare("assistant"));
    let site = Site::serving(asking(Arc::new(model), store, kinds), Settings::default()).await;
    site.work();
    let id = site.done("Begin.").await;
    for number in 0..8 {
        say(&site, &id, &format!("{number} {}", "x".repeat(2_000))).await;
    }
    let (mut digests, mut since, mut before) = (0, false, None::<Value>);
    for item in turns_and_digests(&site, &id).await {
        if item["type"] == "digest" {
            (digests, since) = (digests + 1, true);
            continue;
        }
        let path = format!("/v1/agents/{id}/items/{}/request", item["seq"]);
        let request = site.get(&path).await.expect(200);
        let Some(last) = before.replace(request.clone()) else {
            assert_eq!(request.get("before"), None, "it is the first of its session: {request}");
            continue;
        };
        let (told, messages) = (&request["before"], last["messages"].as_array().unwrap().len());
        assert_eq!((&told["run"], &told["number"]), (&last["run"], &last["number"]), "{told}");
        assert_eq!(told["messages"], messages, "{told}");
        if std::mem::take(&mut since) {
            assert_eq!(told["broken"], "digest", "{told}");
            assert!(told["kept"].as_u64().unwrap() < messages as u64, "{told}");
        } else {
            assert_eq!((&told["kept"], told.get("broken")), (&json!(messages), None), "{told}");
        }
    }
    assert!(digests > 0, "the conversation is longer than the window");

    let close = json!({"action": "close_session"});
    site.post(&format!("/v1/agents/{id}/interventions"), &close).await.expect(202);
    say(&site, &id, "In a new session.").await;
    let last = turns_and_digests(&site, &id).await.pop().unwrap();
    let request = site.get(&format!("/v1/agents/{id}/items/{}/request", last["seq"])).await.expect(200);
    let messages = request["messages"].as_array().unwrap();
    assert_eq!(messages.last().unwrap()["text"], "In a new session.", "{request}");
    assert_eq!(request.get("before"), None, "the session has no request before it");
}
