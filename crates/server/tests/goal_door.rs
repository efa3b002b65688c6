//! What the paths of goals and schedules refuse at the door, each time with the reason and without changing anything.

use std::sync::Arc;

use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use reqwest::Method;
use serde_json::{Value, json};

use crate::site::{Answer, Site, send};

async fn at_rest() -> Site {
    Site::at_rest(Arc::new(SqliteStore::in_memory().unwrap()), Settings::default()).await
}

/// A POST without a body.
async fn empty(site: &Site, path: &str) -> Answer {
    send(site.request(Method::POST, path)).await
}

async fn hourly(site: &Site, agent: &str) -> String {
    let recurrence = json!({ "repeat": "every", "seconds": 3600 });
    let new = json!({ "agent": agent, "trigger": "look", "text": "Look.", "recurrence": recurrence });
    site.post("/v1/schedules", &new).await.expect(201)["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_takes_no_body_refuses_one_and_does_nothing() {
    let site = at_rest().await;
    let goal = site.goal("See Rome").await.0.agent.to_string();
    let schedule = hourly(&site, &goal).await;
    let (of_goal, of_schedule) = (format!("/api/goals/{goal}"), format!("/v1/schedules/{schedule}"));
    let before = [site.get(&of_goal).await.text, site.get(&of_schedule).await.text];
    let archive = ["archive", "unarchive"].map(|action| format!("{of_goal}/{action}"));
    let set = ["pause", "resume", "fire", "end"].map(|action| format!("{of_schedule}/{action}"));
    for path in archive.iter().chain(&set) {
        for body in [json!({ "dry_run": true }), json!("later"), json!([])] {
            let refused = site.post(path, &body).await.problem(422, "invalid-body");
            assert!(refused.detail.contains(path), "{}", refused.detail);
        }
    }
    assert_eq!([site.get(&of_goal).await.text, site.get(&of_schedule).await.text], before);
    for path in archive.iter().chain(&set) {
        assert!(empty(&site, path).await.status.is_success(), "{path}");
    }
}

#[tokio::test]
async fn what_is_got_alone_refuses_parameters_that_it_does_not_know() {
    let site = at_rest().await;
    let goal = site.goal("See Rome").await.0.agent.to_string();
    let schedule = hourly(&site, &goal).await;
    let [task, history] = ["tsk", "ses"].map(|prefix| format!("{prefix}_{}", "0".repeat(32)));
    for path in [
        format!("/v1/goals/{goal}"),
        format!("/v1/schedules/{schedule}"),
        "/v1/user_agent".to_owned(),
        format!("/api/goals/{goal}"),
        format!("/api/agent_tasks/{task}"),
        format!("/api/goals/{goal}/agent_histories/{history}"),
        format!("/api/user_agent/agent_histories/{history}"),
        "/api/user_agent".to_owned(),
        "/api/me".to_owned(),
    ] {
        let refused = site.get(&format!("{path}?fields=title")).await.problem(400, "invalid-query");
        assert!(refused.detail.contains("`fields`"), "{path}: {}", refused.detail);
        assert_ne!(site.get(&path).await.status, 400, "{path}");
    }
}

#[tokio::test]
async fn texts_and_names_that_nobody_could_read_are_refused_on_both_surfaces() {
    let site = at_rest().await;
    let goal = site.goal("See Rome").await.0.agent.to_string();
    let (thread, agent) = (format!("/api/goals/{goal}/thread_messages"), format!("/v1/agents/{goal}"));
    for (path, body, why) in [
        ("/v1/goals", json!({ "title": "\u{200b}\u{2060}" }), "shows nothing"),
        ("/api/goals", json!({ "title": "\u{3164} \u{feff}" }), "shows nothing"),
        (&*thread, json!({ "content": "a\0b" }), "NUL"),
        ("/api/user_agent/thread_messages", json!({ "content": "\0" }), "NUL"),
        (&*format!("{agent}/messages"), json!({ "message": "a\0b" }), "NUL"),
        (&*format!("{agent}/triggers"), json!({ "name": "agent_check_in", "text": "a\0b" }), "NUL"),
        (&*format!("{agent}/triggers"), json!({ "name": "agent\ncheck_in" }), "control character"),
        (&*format!("{agent}/triggers"), json!({ "name": " " }), "shows nothing"),
    ] {
        let refused = site.post(path, &body).await.problem(422, "invalid-request");
        assert!(refused.detail.contains(why), "{path}: {}", refused.detail);
    }
    assert_eq!(site.get(&thread).await.expect(200)["data"], Value::Array(Vec::new()));
    assert_eq!(site.get("/v1/goals").await.expect(200)["data"].as_array().unwrap().len(), 1);
}
