//! Budgets over HTTP: what is left, a grant, and errors that name the cause.

use entourage_engine::Kinds;
use entourage_types::{Kind, Limits};
use serde_json::{Value, json};

use crate::{site::Site, stream::within};

#[tokio::test]
async fn an_agent_without_a_budget_has_none_to_raise() {
    let site = Site::open().await;
    let plain = site.done("hello").await;
    let path = format!("/v1/agents/{plain}/budget");
    assert_eq!(site.get(&path).await.expect(200), json!({ "data": [] }));
    let refused = site.post(&path, &json!({ "cost": "$0.50" })).await.expect(409);
    assert!(refused["detail"].as_str().unwrap().contains("its tree has no such budget"), "{refused}");
    let refused = site.post(&path, &json!({})).await.expect(422);
    assert!(refused["detail"].as_str().unwrap().contains("nothing is granted"), "{refused}");
    for wrong in [json!({ "cost": "half a dollar" }), json!({ "tokens": -1 }), json!({ "dollars": 1 })] {
        site.post(&path, &wrong).await.expect(422);
    }
    site.get("/v1/agents/agt_01a2182f000070008000000000000000/budget").await.expect(404);
}

/// Reads an agent until it is as wanted.
async fn once(site: &Site, id: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let read = async {
        loop {
            let agent = site.get(&format!("/v1/agents/{id}")).await.expect(200);
            if fits(&agent) {
                return agent;
            }
            tokio::task::yield_now().await;
        }
    };
    within(what, read).await
}

#[tokio::test]
async fn a_met_budget_says_why_and_a_grant_lets_the_agent_go_on() {
    let limits = Limits { max_tree_tokens: Some(10), max_answer_tokens: Some(50), ..Limits::default() };
    let kinds = Kinds::none().with(Kind { limits, ..Kind::bare("assistant") });
    let site = Site::of_kinds(kinds).await;
    let id = site.make("hello").await;
    once(&site, &id, "the agent lacks room and waits", |agent| agent["waiting_on"] == "retry").await;
    let why = site.get(&format!("/v1/agents/{id}/why")).await.expect(200);
    assert_eq!((&why["on"], &why["left"]), (&json!("budget"), &json!({ "tokens": 10 })), "{why}");
    let path = format!("/v1/agents/{id}/budget");
    let budget = &site.get(&path).await.expect(200)["data"][0];
    assert_eq!(budget["of"], json!({ "scope": "tree", "root": id }));
    assert_eq!((&budget["allowance"]["tokens"], &budget["spent"]["tokens"]), (&json!(10), &json!(0)));
    let refused = site.post(&path, &json!({ "tokens": u64::MAX })).await.problem(422, "invalid-request");
    assert!(refused.detail.contains(&format!("grant at most {} tokens", i64::MAX)), "{}", refused.detail);
    let granted = site.post(&path, &json!({ "tokens": 100_000 })).await.expect(200);
    assert_eq!(granted["data"][0]["granted"]["tokens"], 100_000);
    once(&site, &id, "the agent goes on after the grant", |agent| agent["status"] == "succeeded").await;
}
