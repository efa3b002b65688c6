//! Interventions over HTTP: applied to any agent, listed, sent as events, refused if they make no sense.

use entourage_api::{Agent, Intervention};
use entourage_types::{Action, EventName, InterventionStatus, ShownStatus};
use serde_json::json;

use crate::site::Site;

#[tokio::test]
async fn a_waiting_agent_can_be_paused_commented_on_and_deleted() {
    let site = Site::open().await;
    let (id, question) = site.asked("ask").await;
    let path = format!("/v1/agents/{id}/interventions");
    let paused = site.post(&path, &json!({"action": "pause", "text": "until Monday"})).await;
    assert_eq!(
        (&paused.expect(202)["action"], &paused.expect(202)["by"]),
        (&json!("pause"), &json!({"by": "user"}))
    );
    site.follow(&id, 0).await.until(|frame| frame.data["waiting_on"] == "resume").await;
    site.post(&path, &json!({"action": "comment", "text": "fine so far"})).await.expect(202);
    let deleted = site.post(&path, &json!({"action": "delete"})).await.expect(202);
    let deleted: Intervention = serde_json::from_value(deleted).unwrap();
    assert_eq!((deleted.action, deleted.status), (Action::Delete, InterventionStatus::Applied));

    assert_eq!(site.get(&format!("/v1/agents/{id}")).await.expect(200)["status"], "cancelled");
    assert_eq!(site.get(&format!("/v1/questions/{question}")).await.expect(200)["status"], "expired");
    let list = site.get(&path).await.expect(200);
    let done: Vec<Intervention> = serde_json::from_value(list["data"].clone()).unwrap();
    let actions: Vec<_> = done.iter().map(|done| (done.action, done.status)).collect();
    let applied = InterventionStatus::Applied;
    assert_eq!(actions, [(Action::Delete, applied), (Action::Comment, applied), (Action::Pause, applied)]);
    let told = site.client().events(id.parse().unwrap(), 0, 100).await.unwrap();
    assert_eq!(told.iter().filter(|event| event.body.name() == EventName::Intervention).count(), 5);
}

/// An agent that a person stopped is shown as stopped in every view, and found by that status.
#[tokio::test]
async fn an_agent_stopped_by_a_person_is_shown_as_stopped_not_as_failed() {
    let site = Site::open().await;
    let (id, _) = site.asked("ask").await;
    let stop = json!({"action": "stop"});
    site.post(&format!("/v1/agents/{id}/interventions"), &stop).await.expect(202);
    let seen = site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "stopped")).await;
    let run = seen.iter().rfind(|frame| frame.event == "run").expect("a run");
    assert_eq!((&run.data["status"], &run.data["stop_reason"]), (&json!("stopped"), &json!("cancelled")));

    let agent = site.get(&format!("/v1/agents/{id}")).await;
    let shown = agent.expect(200);
    assert_eq!((&shown["status"], &shown["stop_reason"]), (&json!("stopped"), &json!("cancelled")));
    let read: Agent = agent.read();
    assert_eq!(read.status, ShownStatus::Stopped);
    let tree = site.get(&format!("/v1/agents/{id}/tree")).await.expect(200);
    assert_eq!(tree["root"]["status"], "stopped");
    let runs = site.get(&format!("/v1/agents/{id}/runs")).await.expect(200);
    assert_eq!(runs["data"][0]["status"], "stopped");
    let found = async |status: &str| site.get(&format!("/v1/agents?status={status}")).await.expect(200);
    assert_eq!(found("stopped").await["data"][0]["id"], id.as_str());
    assert_eq!(found("failed").await["data"], json!([]));

    // Paused and resumed, it is stopped again.
    let intervene = async |action: &str| {
        let wanted = json!({ "action": action });
        site.post(&format!("/v1/agents/{id}/interventions"), &wanted).await.expect(202);
    };
    let last = seen.last().and_then(|frame| frame.id).expect("a number");
    intervene("pause").await;
    let seen = site.follow(&id, last).await.until(|frame| frame.is_status_of(&id, "waiting")).await;
    let last = seen.last().and_then(|frame| frame.id).expect("a number");
    intervene("resume").await;
    site.follow(&id, last).await.until(|frame| frame.is_status_of(&id, "stopped")).await;
    assert_eq!(found("stopped").await["data"][0]["stop_reason"], "cancelled");
}

#[tokio::test]
async fn an_invalid_intervention_is_refused_with_the_reason() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let path = format!("/v1/agents/{id}/interventions");
    site.post(&path, &json!({"action": "steer"})).await.problem(422, "invalid-request");
    site.post(&path, &json!({"action": "explode"})).await.problem(422, "invalid-body");
    let resumed = site.post(&path, &json!({"action": "resume"})).await.problem(409, "not-now");
    assert!(resumed.detail.contains("it is not paused"), "{resumed:?}");
    site.post(&path, &json!({"action": "retry"})).await.problem(409, "not-now");
    assert_eq!(site.get(&path).await.expect(200)["data"], json!([]));
    site.post(&path, &json!({"action": "delete"})).await.expect(202);
    site.post(&path, &json!({"action": "pause"})).await.problem(409, "agent-cancelled");
}
