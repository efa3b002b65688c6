//! What a model received, over HTTP.

use serde_json::{Value, json};

use crate::site::Site;

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
