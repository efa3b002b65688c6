//! What lists of a goal and of the user agent show once there is something to show.

use std::time::Duration;

use entourage_engine::Kinds;
use entourage_llm::{Script, ScriptedModel};
use entourage_testkit::FakeClock;
use serde_json::{Value, json};

use crate::goal_site::{
    at_rest, at_work, create, data, engine, eventually, follow, is_said, say, site, speak, turns_since,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What a goal's agent has learned is shown to its user, and to the operator beside all that its model reads.
///
/// Shows: S4-R074, S4-R150.
#[tokio::test]
async fn what_an_agent_has_learned_is_listed_and_inspected() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match turns_since(request) {
            (0, said) => Script::call("save_learning", json!({ "text": format!("The user said: {said}") })),
            _ => speak(request),
        }))
    });
    let site = at_work(engine(model, &FakeClock::default(), Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    for text in ["By train.", "In May."] {
        say(&site, &goal, text).await;
        at_rest(&site, &goal).await;
    }
    let learnings = data(&site, &format!("/api/goals/{goal}/learnings")).await;
    let each = |learnings: &[Value], text: &str| {
        learnings.iter().map(|one| (one["id"].clone(), one[text].clone())).collect::<Vec<_>>()
    };
    let listed = each(&learnings, "text");
    let texts: Vec<&Value> = listed.iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["The user said: By train.", "The user said: In May."]);
    let inspected = site.get(&format!("/api/goals/{goal}/inspect")).await.expect(200);
    assert_eq!(each(inspected["learnings"].as_array().unwrap(), "content"), listed);
    let other = create(&site).await;
    assert_eq!(data(&site, &format!("/api/goals/{other}/learnings")).await, [Value::Null; 0]);
}

/// Shows: S4-R088, S4-R147.
#[tokio::test]
async fn the_tasks_of_the_user_agent_are_listed_without_a_goal() {
    let site = site().await;
    let goal = create(&site).await;
    say(&site, &goal, "a task").await;
    let said = json!({ "content": "a task, too" });
    site.post("/api/user_agent/thread_messages", &said).await.expect(201);
    let is_done = |page: &Value| page["data"][0]["status"] == "completed";
    let own = eventually(&site, "/api/agent_tasks", is_done).await["data"].clone();
    let of_goal =
        eventually(&site, &format!("/api/agent_tasks?goal_id={goal}"), is_done).await["data"].clone();
    assert_eq!((own.as_array().unwrap().len(), of_goal.as_array().unwrap().len()), (1, 1));
    assert_eq!((&own[0]["goal_id"], &of_goal[0]["goal_id"]), (&Value::Null, &json!(goal)));
    assert_ne!(own[0]["id"], of_goal[0]["id"]);
    assert_eq!((&own[0]["title"], &own[0]["result"]), (&json!("Trains"), &json!("Six trains a day.")));
    let alone = site.get(&format!("/api/agent_tasks/{}", own[0]["id"].as_str().unwrap())).await.expect(200);
    assert_eq!(alone, own[0]);
    let seen = follow(&site, "/api/user_agent/stream", None).await;
    seen.until(|frame| is_said(frame, "Done: a task, too")).await;
}

/// Shows: S4-R064.
#[tokio::test]
async fn a_timeframe_leaves_out_conversations_that_are_older() {
    let model = ScriptedModel::deciding(|request| Some(Ok(speak(request))));
    let clock = FakeClock::default();
    let site = at_work(engine(model, &clock, Kinds::builtin()).build()).await;
    let goal = create(&site).await;
    let path = format!("/api/goals/{goal}/agent_histories");
    for number in 1..=2 {
        say(&site, &goal, &format!("Trains, part {number}.")).await;
        at_rest(&site, &goal).await;
        clock.advance(DAY / 48);
        let is_archived = |page: &Value| page["data"].as_array().unwrap().len() == number;
        eventually(&site, &path, is_archived).await;
        // The second one is eight days younger than the first.
        if number == 1 {
            clock.advance(8 * DAY);
        }
    }
    let all = data(&site, &path).await;
    let [newer, older] = &all[..] else { panic!("{all:?}") };
    assert!(newer["completed_at"].as_str() > older["completed_at"].as_str(), "the latest first: {all:?}");
    for (query, expected) in [
        ("timeframe=last_week", vec![newer]),
        ("timeframe=last_day&query=trains", vec![newer]),
        ("timeframe=last_month", vec![newer, older]),
        ("timeframe=all&query=trains", vec![newer, older]),
    ] {
        let found = data(&site, &format!("{path}?{query}")).await;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
    }
}
