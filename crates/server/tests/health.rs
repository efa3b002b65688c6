//! A round of health over HTTP.

use std::{sync::Arc, time::Duration};

use entourage_api::HealthRound;
use entourage_engine::{Engine, HealthPolicy, Kinds, NewGoal, Page};
use entourage_llm::{Script, ScriptedModel};
use entourage_store_sqlite::SqliteStore;
use entourage_tools::builtin;
use entourage_types::{HealthAct, Kind, Owner, Status};
use reqwest::Method;
use serde_json::json;

use crate::{
    auth::{settings, token_of},
    site::{Answer, Site, send},
};

async fn run(site: &Site, path: &str) -> Answer {
    send(site.request(Method::POST, path)).await
}

/// An engine that takes a goal for stale at once, and whose goals rest.
fn engine() -> Engine {
    let mut goal = Kind::clone(&Kinds::builtin().get("goal").unwrap());
    goal.tools = Some(vec!["wait".into()]);
    goal.version.clear();
    let model = ScriptedModel::new([Script::call("wait", json!({ "seconds": 86_400 }))]);
    Engine::builder(Arc::new(SqliteStore::in_memory().unwrap()), Arc::new(model))
        .kinds(Kinds::builtin().with(goal))
        .tools(builtin(entourage_tools::Settings::default()))
        .health(HealthPolicy { stale_goal: Duration::ZERO, ..HealthPolicy::default() })
        .build()
}

/// Shows: S4-R130.
#[tokio::test]
async fn a_round_of_health_is_done_over_http_by_the_operator_alone() {
    let site = Site::serving(engine(), settings()).await;
    site.work();
    let client = site.engine.client(Owner::new("alice"));
    let goal =
        client.create_goal(NewGoal { title: "Rest".into(), ..NewGoal::default() }, None).await.unwrap();
    client.send(goal.agent, "Rest.", None).await.unwrap();
    while client.agent(goal.agent).await.unwrap().status != Status::Waiting {
        tokio::task::yield_now().await;
    }
    for path in ["/v1/health", "/api/health_monitor/run"] {
        run(&site, path).await.problem(401, "unauthorized");
        run(&site.bearing(&token_of("alice")), path).await.problem(403, "operator-only");
    }
    let operator = site.bearing(&token_of("local"));
    run(&operator, "/v1/health?dry_run=maybe").await.problem(400, "invalid-query");
    // A dry run that is asked for in the wrong place must not become a real one.
    let misplaced = operator.post("/v1/health", &json!({ "dry_run": true })).await;
    assert!(misplaced.problem(422, "invalid-body").detail.contains("/v1/health?"), "{}", misplaced.text);
    for path in ["/v1/health?dry_run=true", "/api/health_monitor/run?dry_run=true"] {
        let look: HealthRound = run(&operator, path).await.read();
        assert!(look.dry_run);
        let [report] = &look.reports[..] else { panic!("{look:?}") };
        assert_eq!((report.agent, report.what), (goal.agent, HealthAct::Rested));
        assert!(report.why.starts_with("nothing of it has changed since "), "{report:?}");
    }
    assert_eq!(client.agent(goal.agent).await.unwrap().status, Status::Waiting, "a look changes nothing");
    let done: HealthRound = run(&operator, "/api/health_monitor/run").await.read();
    assert_eq!((done.dry_run, done.reports.len()), (false, 1));
    assert_eq!(client.agent(goal.agent).await.unwrap().status, Status::Succeeded);
    let again = run(&operator, "/v1/health").await.expect(200);
    assert_eq!(again, json!({ "dry_run": false, "reports": [] }));
}

/// A task that got nowhere is shown as ended, and no result is claimed.
///
/// Shows: S4-R128.
#[tokio::test]
async fn a_stale_task_is_shown_as_stalled_and_without_a_result() {
    let mut task = Kind::clone(&Kinds::builtin().get("task").unwrap());
    task.tools = Some(vec!["wait".into()]);
    task.version.clear();
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.system.starts_with("You work on one task") {
            true => Script::call("wait", json!({ "seconds": 86_400 })),
            false => Script::call("create_task", json!({ "title": "Look", "instructions": "Find it." }))
                .and_call("send_message", json!({ "message": "It has begun." })),
        }))
    });
    let engine = Engine::builder(Arc::new(SqliteStore::in_memory().unwrap()), Arc::new(model))
        .kinds(Kinds::builtin().with(task))
        .tools(builtin(entourage_tools::Settings::default()))
        .health(HealthPolicy { stale_task: Duration::ZERO, ..HealthPolicy::default() })
        .build();
    let site = Site::serving(engine, settings()).await;
    site.work();
    let client = site.engine.client(Owner::local());
    let goal =
        client.create_goal(NewGoal { title: "Rome".into(), ..NewGoal::default() }, None).await.unwrap();
    client.send(goal.agent, "Begin.", None).await.unwrap();
    let operator = site.bearing(&token_of("local"));
    let path = format!("/api/agent_tasks?goal_id={}", goal.agent);
    let task = loop {
        if let [task] = &client.goal_tasks(goal.agent, Page::all()).await.unwrap()[..]
            && client.agent(task.to).await.unwrap().status == Status::Waiting
        {
            break task.clone();
        }
        tokio::task::yield_now().await;
    };
    let done: HealthRound = run(&operator, "/v1/health").await.read();
    assert_eq!(done.reports.len(), 1, "{done:?}");
    let shown = operator.get(&path).await.expect(200);
    let shown = &shown["data"][0];
    assert_eq!(
        ["id", "status", "stop_reason", "result"].map(|of| shown[of].clone()),
        [json!(task.id), json!("completed"), json!("stalled"), json!(null)]
    );
}
