//! The responses to a wrong request: which problem, where, and what to do.

use reqwest::Method;
use serde_json::json;

use crate::site::{Site, send};

#[tokio::test]
async fn an_unknown_path_and_a_wrong_method_return_problem_documents() {
    let site = Site::open().await;
    let problem = site.get("/v1/agent").await.problem(404, "no-route");
    assert!(problem.detail.contains("/openapi.json"));
    let answer = send(site.request(Method::DELETE, "/v1/kinds")).await;
    answer.problem(405, "method-not-allowed");
    assert!(answer.headers["allow"].to_str().unwrap().contains("GET"));
}

#[tokio::test]
async fn a_malformed_id_returns_400_and_an_unknown_id_returns_404() {
    let site = Site::open().await;
    let problem = site.get("/v1/agents/agt_1").await.problem(400, "invalid-path");
    assert!(
        problem.detail.contains("agt_") && problem.detail.contains("32 hex digits"),
        "{}",
        problem.detail
    );
    let run = format!("run_{}", "0".repeat(32));
    site.get(&format!("/v1/agents/{run}")).await.problem(400, "invalid-path");
    site.get(&format!("/v1/runs/{run}")).await.problem(404, "not-found");
    for path in ["/v1/agents/%FF", "/v1/kinds/%FF"] {
        site.get(path).await.problem(400, "invalid-path");
    }
}

#[tokio::test]
async fn a_problem_names_the_invalid_query_parameter() {
    let site = Site::open().await;
    for (query, named) in [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=many", "limit"),
        ("status=asleep", "status"),
        ("colour=red", "colour"),
    ] {
        let problem = site.get(&format!("/v1/agents?{query}")).await.problem(400, "invalid-query");
        assert!(problem.detail.contains(named), "{query}: {}", problem.detail);
    }
}

#[tokio::test]
async fn a_query_with_no_number_or_another_than_allowed_is_told_which_are() {
    let site = Site::open().await;
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let (few, any) = ("from 1 to 200", "from 0 to 9223372036854775807");
    for (path, name, value, range) in [
        ("", "limit", "abc", few),
        ("", "limit", "", few),
        ("", "limit", "-1", few),
        ("", "limit", "201", few),
        ("", "limit", "99999999999999999999", few),
        ("/timeline", "buckets", "many", few),
        ("/timeline", "buckets", "201", few),
        ("/items", "from", "1.5", any),
        ("/tree", "at", "now", any),
    ] {
        let path = if path.is_empty() { "/v1/agents".to_owned() } else { format!("/v1/agents/{id}{path}") };
        let problem = site.get(&format!("{path}?{name}={value}")).await.problem(400, "invalid-query");
        assert_eq!(problem.detail, format!("{name}: `{value}` is not a number {range}"));
    }
}

#[tokio::test]
async fn a_problem_names_the_place_of_the_mistake_in_a_body() {
    let site = Site::open().await;
    let post = |body: &'static str| {
        let request = site.request(Method::POST, "/v1/agents").header("content-type", "application/json");
        send(request.body(body))
    };
    let broken = post("{\"title\": ").await.problem(400, "invalid-json");
    assert!(broken.detail.contains("line 1"), "{}", broken.detail);
    let wrong = post("{\"title\": 7}").await.problem(422, "invalid-body");
    assert!(wrong.detail.contains("title") && wrong.detail.contains("column"), "{}", wrong.detail);
    let list = post("[]").await.problem(422, "invalid-body");
    assert!(list.detail.contains("expected an object"), "{}", list.detail);
    let unknown = post("{\"colour\": \"red\"}").await.problem(422, "invalid-body");
    assert!(
        unknown.detail.contains("`colour`") && unknown.detail.contains("`message`"),
        "{}",
        unknown.detail
    );
}

#[tokio::test]
async fn an_unknown_kind_and_a_blank_message_are_rejected_with_422() {
    let site = Site::open().await;
    let unknown = site.post("/v1/agents", &json!({"kind": "poet"})).await.problem(422, "unknown-kind");
    assert!(unknown.detail.contains("orchestrator"), "{}", unknown.detail);
    site.post("/v1/agents", &json!({"message": " "})).await.problem(422, "invalid-request");
}

#[tokio::test]
async fn a_body_must_be_json_and_not_too_large() {
    let site = Site::with(entourage_server::Settings { body_limit: 100, ..Default::default() }).await;
    let form = site.request(Method::POST, "/v1/agents").header("content-type", "text/plain").body("{}");
    send(form).await.problem(415, "media-type");
    let large = json!({"message": "x".repeat(200)});
    site.post("/v1/agents", &large).await.problem(413, "too-large");
    site.post("/v1/agents", &json!({"message": "x"})).await.expect(201);
}

#[tokio::test]
async fn every_response_carries_a_request_id() {
    let site = Site::open().await;
    let named = send(site.request(Method::GET, "/v1/kinds").header("x-request-id", "mine")).await;
    assert_eq!(named.headers["x-request-id"], "mine");
    let unnamed = site.get("/v1/agent").await;
    assert!(!unnamed.headers["x-request-id"].is_empty());
    // Each line of the log repeats the name, so its length is limited.
    for (length, is_kept) in [(128, true), (129, false)] {
        let name = "x".repeat(length);
        let named = send(site.request(Method::GET, "/v1/kinds").header("x-request-id", &name)).await;
        let answered = named.headers["x-request-id"].to_str().unwrap();
        assert_eq!((answered == name, answered.is_empty()), (is_kept, false), "{length}");
    }
}

#[tokio::test]
async fn a_problem_repeats_only_a_part_of_a_long_field_name() {
    let site = Site::open().await;
    let long = "x".repeat(1 << 20);
    let problem = site.post("/v1/agents", &json!({ long: 1 })).await.problem(422, "invalid-body");
    assert!(
        problem.detail.contains("xxx") && problem.detail.len() < 10_000,
        "{} bytes",
        problem.detail.len()
    );
}
