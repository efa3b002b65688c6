//! Budgets over HTTP: what is left, a grant, and errors that name the cause.

use std::sync::Arc;

use entourage_engine::Kinds;
use entourage_llm::{Model, Price, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::HeldModel;
use entourage_types::{Kind, Limits};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    site::{Site, asking, send},
    stream::within,
};

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

/// Responses tell money as a number of billionths: copied into a grant, it would be read as dollars.
#[tokio::test]
async fn a_grant_of_money_is_text_and_a_number_is_refused_with_the_form() {
    let limits = Limits { max_tree_tokens: Some(100_000), ..Limits::default() };
    let site = Site::of_kinds(Kinds::none().with(Kind { limits, ..Kind::bare("assistant") })).await;
    let path = format!("/v1/agents/{}/budget", site.done("hello").await);
    for number in [json!(500_000_000), json!(0.5), json!(0), json!([1])] {
        let refused = site.post(&path, &json!({ "cost": number })).await.problem(422, "invalid-body");
        assert!(
            refused.detail.contains("cost") && refused.detail.contains("\"$0.50\""),
            "{}",
            refused.detail
        );
    }
    assert_eq!(site.get(&path).await.expect(200)["data"][0]["granted"], json!({ "cost": 0, "tokens": 0 }));
    let granted = site.post(&path, &json!({ "cost": null, "tokens": 5 })).await.expect(200);
    assert_eq!(granted["data"][0]["granted"], json!({ "cost": 0, "tokens": 5 }));
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
    assert!(refused.detail.contains("grant at most 1000000000000 tokens at once"), "{}", refused.detail);
    let granted = site.post(&path, &json!({ "tokens": 100_000 })).await.expect(200);
    assert_eq!(granted["data"][0]["granted"]["tokens"], 100_000);
    once(&site, &id, "the agent goes on after the grant", |agent| agent["status"] == "succeeded").await;
}

/// Who granted what stays on record, and what is left of it can be taken back.
#[tokio::test]
async fn grants_are_listed_as_events_and_taken_back_as_far_as_they_are_left() {
    let limits = Limits { max_tree_tokens: Some(100_000), ..Limits::default() };
    let site = Site::of_kinds(Kinds::none().with(Kind { limits, ..Kind::bare("assistant") })).await;
    let id = site.done("hello").await;
    let path = format!("/v1/agents/{id}/budget");
    site.post(&path, &json!({ "tokens": 50 })).await.expect(200);
    let back = |tokens: u64| json!({ "tokens": tokens, "take_back": true });
    let refused = site.post(&path, &back(51)).await.problem(422, "invalid-request");
    assert!(refused.detail.starts_with("take back at most 50 tokens: "), "{}", refused.detail);
    let left = site.post(&path, &back(20)).await.expect(200);
    assert_eq!(left["data"][0]["granted"]["tokens"], 30, "{left}");
    let listed = format!("/v1/agents/{id}/events?event=budget");
    let listed = site.request(Method::GET, &listed).header("accept", "application/json");
    let listed = send(listed).await.expect(200);
    let events: Vec<Value> = listed["data"].as_array().unwrap().clone();
    let told: Vec<_> = events
        .iter()
        .map(|event| (&event["by"], &event["action"], &event["amount"]["tokens"], event["at"].is_string()))
        .collect();
    let (local, grant, take_back) = (json!("local"), json!("grant"), json!("take_back"));
    assert_eq!(
        told,
        [(&local, &grant, &json!(50), true), (&local, &take_back, &json!(20), true)],
        "{listed}"
    );
}

/// A site whose agents have this model and these limits.
async fn limited(model: impl Model, limits: Limits) -> Site {
    let kinds = Kinds::none().with(Kind { limits, ..Kind::bare("assistant") });
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let site = Site::serving(asking(Arc::new(model), store, kinds), Settings::default()).await;
    site.work();
    site
}

/// A dollar for a million tokens: 1000 billionths for each.
const PRICE: Price = Price { input: 1.0, output: 1.0, cached: None, cache_written: None };

/// The tokens of a scripted answer.
const USED: u64 = 15;

#[tokio::test]
async fn a_grant_in_money_lets_an_agent_that_lacks_money_go_on() {
    let model = ScriptedModel::new([Script::text("Hello.")]).priced(PRICE);
    let allowed = Some("$0.00001".parse().unwrap());
    let limits = Limits { max_tree_cost: allowed, max_answer_tokens: Some(50), ..Limits::default() };
    let site = limited(model, limits).await;
    let id = site.make("hello").await;
    once(&site, &id, "the agent lacks money and waits", |agent| agent["waiting_on"] == "retry").await;
    let why = site.get(&format!("/v1/agents/{id}/why")).await.expect(200);
    assert_eq!((&why["on"], &why["left"]), (&json!("budget"), &json!({ "cost": 10_000 })), "{why}");
    let path = format!("/v1/agents/{id}/budget");
    let granted = site.post(&path, &json!({ "cost": "$0.50" })).await.expect(200)["data"][0].clone();
    assert_eq!(granted["granted"], json!({ "cost": 500_000_000, "tokens": 0 }), "{granted}");
    once(&site, &id, "the agent goes on after the grant", |agent| agent["status"] == "succeeded").await;
    let budget = &site.get(&path).await.expect(200)["data"][0];
    assert_eq!(
        (&budget["allowance"], &budget["granted"], &budget["spent"]),
        (&json!({ "cost": 10_000 }), &granted["granted"], &json!({ "cost": USED * 1000, "tokens": USED }))
    );
    assert_eq!(budget["left"], json!({ "cost": 500_010_000 - USED * 1000 }), "{budget}");
}

#[tokio::test]
async fn what_a_call_under_way_reserves_is_shown_beside_what_is_spent_and_left() {
    let script = [Script::call("create_note", json!({"title": "t", "content": "c"})), Script::text("Noted.")];
    let held = HeldModel::new(ScriptedModel::new(script).priced(PRICE));
    let limits = Limits { max_tree_tokens: Some(100_000), max_answer_tokens: Some(50), ..Limits::default() };
    let site = limited(held.clone(), limits).await;
    let id = site.make("hello").await;
    let path = format!("/v1/agents/{id}/budget");
    for spent in [0, USED] {
        held.begun().await;
        let budget = &site.get(&path).await.expect(200)["data"][0];
        let reserved = budget["reserved"]["tokens"].as_u64().unwrap();
        assert!(reserved > 50, "the prompt and the longest answer: {budget}");
        assert_eq!(budget["reserved"]["cost"], reserved * 1000, "{budget}");
        assert_eq!(budget["spent"], json!({ "cost": spent * 1000, "tokens": spent }), "{budget}");
        assert_eq!(budget["left"], json!({ "tokens": 100_000 - spent - reserved }), "{budget}");
        held.let_go(1);
    }
    once(&site, &id, "the answers come", |agent| agent["status"] == "succeeded").await;
    let budget = &site.get(&path).await.expect(200)["data"][0];
    assert_eq!(budget["reserved"], json!({ "cost": 0, "tokens": 0 }), "{budget}");
    assert_eq!(budget["left"], json!({ "tokens": 100_000 - 2 * USED }), "{budget}");
}
