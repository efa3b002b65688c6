//! Goals over HTTP: created, changed, put away, taken up and deleted; their tasks, and the user agent.

use std::sync::Arc;

use entourage_api::{Agent, Goal, Task};
use entourage_engine::Kinds;
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::quiet;
use entourage_types::{GoalStatus, Status};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    auth::{settings, token_of},
    site::{Answer, Site, asking, send},
};

impl Site {
    /// Creates a goal, and returns it with its path.
    pub(crate) async fn goal(&self, title: &str) -> (Goal, String) {
        let new = json!({ "title": title, "description": "A week in May.", "instructions": "By train." });
        let made = self.post("/v1/goals", &new).await;
        let path = made.headers["location"].to_str().unwrap().to_owned();
        (serde_json::from_value(made.expect(201)).unwrap(), path)
    }

    async fn put(&self, path: &str, body: &Value) -> Answer {
        send(self.request(Method::PUT, path).json(body)).await
    }
}

/// A site whose agents do not work by themselves.
async fn at_rest() -> Site {
    Site::at_rest(Arc::new(SqliteStore::in_memory().unwrap()), Settings::default()).await
}

#[tokio::test]
async fn a_goal_is_created_changed_listed_and_deleted() {
    let site = at_rest().await;
    let (goal, path) = site.goal(" See Rome ").await;
    assert_eq!((&*goal.title, goal.status), ("See Rome", GoalStatus::Open));
    assert_eq!(site.get(&path).await.read::<Goal>(), goal);
    let agent: Agent = site.get(&format!("/v1/agents/{}", goal.agent)).await.read();
    assert_eq!((&*agent.kind, &*agent.title), ("goal", "See Rome"));
    let (other, _) = site.goal("Learn Italian").await;

    let changed: Goal = site.put(&path, &json!({ "description": "In June." })).await.read();
    assert_eq!((&*changed.title, &*changed.description), ("See Rome", "In June."));
    for (change, why) in [
        (json!({ "title": " " }), "empty"),
        (json!({ "instructions": "x".repeat(9_000) }), "instructions"),
        (json!({ "status": "done" }), "expected `open` or `archived`"),
        (json!({ "name": "Rome" }), "name"),
    ] {
        let refused = site.put(&path, &change).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert!(refused.text.contains(why), "{}", refused.text);
    }
    site.post("/v1/goals", &json!({ "title": "a\nb" })).await.problem(422, "invalid-request");

    let titles = async |query: &str| {
        let page = site.get(&format!("/v1/goals{query}")).await.expect(200);
        page["data"].as_array().unwrap().iter().map(|goal| goal["title"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(titles("").await, ["Learn Italian", "See Rome"]);
    let away = format!("/v1/goals/{}", other.agent);
    site.put(&away, &json!({ "status": "archived" })).await.expect(200);
    assert_eq!(titles("?status=archived").await, ["Learn Italian"]);
    assert_eq!(titles("?status=open").await, ["See Rome"]);
    for (words, found) in [("rome", &["See Rome"][..]), ("see+june", &["See Rome"]), ("rome+italian", &[])] {
        assert_eq!(titles(&format!("?text={words}")).await, found, "{words}");
    }

    assert_eq!(site.delete(&path).await.status, 204);
    for gone in [&path, &format!("{path}/none")] {
        assert_eq!(site.get(gone).await.status, 404);
    }
    site.delete(&path).await.problem(404, "not-found");
    assert_eq!(site.get(&format!("/v1/agents/{}", goal.agent)).await.expect(200)["status"], "cancelled");
    assert_eq!(titles("").await, ["Learn Italian"]);
}

#[tokio::test]
async fn a_goal_is_created_once_per_idempotency_key() {
    let site = at_rest().await;
    let create = async |title: &str| {
        let request = site.request(Method::POST, "/v1/goals").header("idempotency-key", "k");
        send(request.json(&json!({ "title": title }))).await
    };
    let first = create("See Rome").await.expect(201);
    assert_eq!(create("See Rome").await.expect(201), first);
    create("See Paris").await.problem(422, "key-reused");
    assert_eq!(site.get("/v1/goals").await.expect(200)["data"], json!([first]));
}

#[tokio::test]
async fn the_agent_of_an_archived_goal_is_given_nothing_to_do() {
    let site = at_rest().await;
    let (goal, path) = site.goal("See Rome").await;
    let agent = format!("/v1/agents/{}", goal.agent);
    let requests = [
        ("messages", json!({ "message": "Hello." })),
        ("triggers", json!({ "name": "agent_check_in" })),
        ("interventions", json!({ "action": "steer", "text": "Go on." })),
    ];
    site.put(&path, &json!({ "status": "archived" })).await.expect(200);
    for (to, body) in &requests {
        let refused = site.post(&format!("{agent}/{to}"), body).await.problem(409, "not-now");
        assert!(refused.detail.contains("its goal is archived; unarchive it first"), "{}", refused.detail);
    }
    site.put(&path, &json!({ "status": "open" })).await.expect(200);
    for (to, body) in &requests {
        site.post(&format!("{agent}/{to}"), body).await.expect(202);
    }
}

/// A goal's agent that creates a task for each message, and a task that answers.
fn giving_tasks() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            _ if request.system.starts_with("You work on one task") => Script::text("Six trains a day."),
            Some(Message::User(text)) => {
                Script::call("create_task", json!({ "title": text, "instructions": "Find the trains." }))
            }
            _ => Script::call("send_message", json!({ "message": "It has begun." })),
        }))
    })
}

#[tokio::test]
async fn the_tasks_of_a_goal_are_listed_with_what_they_came_to() {
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let engine = asking(Arc::new(giving_tasks()), store, quiet(Kinds::builtin()));
    let site = Site::serving(engine, Settings::default()).await;
    site.work();
    let (goal, path) = site.goal("See Rome").await;
    assert_eq!(site.get(&format!("{path}/tasks")).await.expect(200)["data"], json!([]));
    let agent = goal.agent.to_string();
    let mut stream = site.follow(&agent, 0).await;
    for title in ["Trains", "Hotels"] {
        site.post(&format!("/v1/agents/{agent}/messages"), &json!({ "message": title })).await.expect(202);
        stream
            .read_until(|frame| {
                frame.event == "task"
                    && frame.data["task"]["title"] == title
                    && frame.data["task"]["status"] == "succeeded"
            })
            .await;
    }
    let newest = site.get(&format!("{path}/tasks?limit=1")).await.expect(200);
    let cursor = newest["next_cursor"].as_str().unwrap();
    let oldest = site.get(&format!("{path}/tasks?limit=1&cursor={cursor}")).await.expect(200);
    assert_eq!(oldest["next_cursor"], Value::Null);
    let [newest, oldest]: [Task; 2] =
        [newest, oldest].map(|page| serde_json::from_value(page["data"][0].clone()).unwrap());
    assert_eq!((&*newest.title, &*oldest.title), ("Hotels", "Trains"));
    assert_eq!((newest.status, newest.from, &*newest.kind), (Status::Succeeded, goal.agent, "task"));
}

#[tokio::test]
async fn each_owner_has_goals_and_a_user_agent_of_their_own() {
    let ada = Site::with(settings()).await.bearing(&token_of("ada"));
    let eve = ada.bearing(&token_of("eve"));
    let first: Agent = ada.get("/v1/user_agent").await.read();
    assert_eq!((&*first.kind, first.owner.to_string()), ("user_agent", "ada".to_owned()));
    assert_eq!(ada.get("/v1/user_agent").await.read::<Agent>(), first);
    let other: Agent = eve.get("/v1/user_agent").await.read();
    assert_ne!(other.id, first.id);

    let (_, path) = ada.goal("See Rome").await;
    for refused in [
        eve.get(&path).await,
        eve.get(&format!("{path}/tasks")).await,
        eve.put(&path, &json!({ "status": "archived" })).await,
        eve.delete(&path).await,
    ] {
        refused.problem(404, "not-found");
    }
    assert_eq!(eve.get("/v1/goals").await.expect(200)["data"], json!([]));
    assert_eq!(ada.get(&path).await.expect(200)["status"], "open");
}
