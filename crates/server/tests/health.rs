//! A round of health over HTTP.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use entourage_api::HealthRound;
use entourage_engine::{Clock as _, Engine, HealthPolicy, Kinds, NewGoal};
use entourage_llm::{Error as ModelError, Script, ScriptedModel};
use entourage_store::{Layered, Store};
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::{FakeClock, LostTimers};
use entourage_types::{HealthAct, Kind, Owner, Status, Time};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    auth::{settings, token_of},
    goal_site::{at_work, create, data, engine_over, eventually, follow, is_of_task, say, speak, with_tools},
    site::{Answer, Site, send},
    stream::within,
};

async fn run(site: &Site, path: &str) -> Answer {
    send(site.request(Method::POST, path)).await
}

/// A store in which nothing wakes an agent that rests.
fn losing_timers() -> Arc<dyn Store> {
    Arc::new(Layered::new(Arc::new(SqliteStore::in_memory().unwrap()), LostTimers))
}

/// An engine that takes a goal for stale at once, and whose goals rest.
fn engine(clock: &FakeClock) -> Engine {
    let mut goal = Kind::clone(&Kinds::builtin().get("goal").unwrap());
    goal.tools = Some(vec!["wait".into()]);
    goal.version.clear();
    let model = ScriptedModel::new([Script::call("wait", json!({ "seconds": 1 }))]);
    engine_over(losing_timers(), model, clock, Kinds::builtin().with(goal))
        .health(HealthPolicy { stale_goal: Duration::ZERO, ..HealthPolicy::default() })
        .build()
}

/// Shows: S4-R130.
#[tokio::test]
async fn a_round_of_health_is_done_over_http_by_the_operator_alone() {
    let clock = FakeClock::default();
    let site = Site::serving(engine(&clock), settings()).await;
    site.work();
    let client = site.engine.client(Owner::new("alice"));
    let goal =
        client.create_goal(NewGoal { title: "Rest".into(), ..NewGoal::default() }, None).await.unwrap();
    client.send(goal.agent, "Rest.", None).await.unwrap();
    within("the goal rests", async {
        while client.agent(goal.agent).await.unwrap().status != Status::Waiting {
            tokio::task::yield_now().await;
        }
    })
    .await;
    clock.advance(Duration::from_secs(1));
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

/// An agent in hand rests, and nothing wakes it: a task of a goal, or a goal itself.
fn resting(is_task: bool) -> ScriptedModel {
    ScriptedModel::deciding(move |request| {
        let has_given = format!("{:?}", request.messages).contains("was given to");
        Some(Ok(match is_task && !is_of_task(request) {
            _ if request.system.starts_with("You keep the records") => Script::text("They rested."),
            true if has_given => Script::call("send_message", json!({ "message": "It has begun." })),
            true => Script::call("create_task", json!({ "title": "T", "instructions": "Rest." })),
            false => Script::call("wait", json!({ "seconds": 60 })),
        }))
    })
}

/// What became of a task or a goal of which nothing changes for hours is what its user sees of it.
///
/// Shows: S4-R128, S4-R129.
#[tokio::test]
async fn a_stale_task_shows_as_completed_without_a_result_and_a_stale_goal_as_waiting() {
    for (kind, hours) in [("task", 2), ("goal", 6)] {
        let is_task = kind == "task";
        let clock = FakeClock::default();
        let site = at_work(
            engine_over(losing_timers(), resting(is_task), &clock, with_tools(kind, &["wait"])).build(),
        )
        .await;
        let goal = create(&site).await;
        say(&site, &goal, "Rest.").await;
        let tasks = format!("/api/agent_tasks?goal_id={goal}");
        let shown = async || match is_task {
            true => site.get(&tasks).await.expect(200)["data"][0].clone(),
            false => site.get(&format!("/api/goals/{goal}")).await.expect(200),
        };
        let asleep = async || {
            let due = site.engine.store().due(clock.now(), None, u32::MAX).await.unwrap();
            let agents = site.client().tree(goal.parse().unwrap()).await.unwrap();
            let rests = |agent: &entourage_types::Agent| agent.status == Status::Waiting;
            due.is_empty() && agents.last().is_some_and(rests) && agents.len() == 1 + usize::from(is_task)
        };
        within("it rests", async {
            while !asleep().await {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let round = async || {
            let done: HealthRound = run(&site, "/api/health_monitor/run").await.read();
            done.reports.len()
        };
        let before = shown().await;
        assert_eq!(before["status"], if is_task { "active" } else { "working" });
        clock.advance(Duration::from_secs(hours * 3600 - 1));
        assert_eq!((round().await, shown().await), (0, before), "not yet");
        clock.advance(Duration::from_secs(1));
        assert_eq!(round().await, 1);
        let after = shown().await;
        if is_task {
            let told = ["status", "stop_reason", "result"].map(|field| after[field].clone());
            assert_eq!(told, [json!("completed"), json!("stalled"), Value::Null]);
        } else {
            assert_eq!(after["status"], "waiting");
        }
    }
}

/// A task that is paused for a day expires, which no person did: its thread says that it has failed for good.
///
/// Shows: S4-R111, S4-R126.
#[tokio::test]
async fn a_task_that_expires_has_failed_permanently_in_its_thread() {
    // One attempt fails, and then the gate is closed: it is put off again and again.
    let has_failed = AtomicBool::new(false);
    let model = ScriptedModel::deciding(move |request| {
        let model = "m".into();
        Some(match is_of_task(request) {
            true if has_failed.swap(true, Ordering::SeqCst) => {
                Err(ModelError::Busy { model, after: Duration::from_secs(300) })
            }
            true => Err(ModelError::Unreachable { model, cause: "reset".into(), sent: false }),
            false => Ok(speak(request)),
        })
    });
    let clock = FakeClock::default();
    let site = at_work(engine_over(losing_timers(), model, &clock, Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    say(&site, &goal, "a task").await;
    let path = format!("/api/agent_tasks?goal_id={goal}");
    let task =
        eventually(&site, &path, |page| page["data"][0]["status"] == "paused").await["data"][0].clone();
    let thread = format!("/api/agent_tasks/{}", task["id"].as_str().unwrap());
    let stream = follow(&site, &format!("{thread}/stream"), None).await;
    let messages = format!("{thread}/thread_messages");
    for hours in [23, 1] {
        clock.advance(Duration::from_secs(hours * 3600));
        let is_put_off = |page: &Value| {
            let due = page["data"][0]["metadata"]["next_retry_at"].as_str();
            due.is_some_and(|due| due.parse::<Time>().unwrap() > clock.now())
        };
        eventually(&site, &messages, is_put_off).await;
    }
    let done: HealthRound = run(&site, "/api/health_monitor/run").await.read();
    assert_eq!(done.reports.iter().map(|report| report.what).collect::<Vec<_>>(), [HealthAct::Expired]);
    let told = stream.until(|frame| frame.data["metadata"]["retryable"] == false).await.pop().unwrap().data;
    let messages = data(&site, &messages).await;
    assert_eq!(messages, std::slice::from_ref(&told), "one message about it");
    let last = json!({ "error_class": "network", "attempt": 1, "next_retry_at": null, "retryable": false });
    assert_eq!((&told["source"], &told["metadata"]), (&json!("error"), &last));
    let said = told["content"].as_str().unwrap();
    assert!(said.starts_with("Failed permanently: it was paused for 24 hours"), "{said}");
    assert_eq!(data(&site, &path).await[0]["status"], "cancelled");
}
