//! The end of a goal, and its title: what else shows them.

use entourage_api::Agent;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    goal_site::{create, data, eventually, follow, say, site},
    site::send,
    stream::{Stream, within},
};

async fn ends(mut stream: Stream) {
    within("the end of a stream", async { while stream.next().await.is_some() {} }).await;
}

/// The goal goes with its agent, whoever deletes that; nobody is left waiting for news of it or of its tasks.
#[tokio::test]
async fn who_deletes_the_agent_of_a_goal_deletes_the_goal_and_its_streams_end() {
    let site = site().await;
    let goal = create(&site).await;
    say(&site, &goal, "a task").await;
    let tasks = format!("/api/agent_tasks?goal_id={goal}");
    let tasks = eventually(&site, &tasks, |page| page["data"][0]["status"] == "completed").await;
    let task = format!("/api/agent_tasks/{}", tasks["data"][0]["id"].as_str().unwrap());
    let threads = [format!("/api/goals/{goal}/stream"), format!("{task}/stream")];
    let open = [follow(&site, &threads[0], None).await, follow(&site, &threads[1], None).await];
    let delete = json!({ "action": "delete" });
    site.post(&format!("/v1/agents/{goal}/interventions"), &delete).await.expect(202);
    for stream in open {
        ends(stream).await;
    }
    for gone in [&threads[0], &format!("/v1/goals/{goal}"), &format!("/api/goals/{goal}")] {
        site.get(gone).await.problem(404, "not-found");
    }
    assert_eq!(data(&site, "/v1/goals").await, [Value::Null; 0]);
    // The task is on record; what would be followed of it is over.
    site.get(&task).await.expect(200);
    ends(follow(&site, &threads[1], None).await).await;
}

#[tokio::test]
async fn a_new_title_of_a_goal_is_that_of_its_agent() {
    let site = site().await;
    let goal = create(&site).await;
    let renamed =
        send(site.request(Method::PUT, &format!("/v1/goals/{goal}")).json(&json!({ "title": "Naples" })));
    renamed.await.expect(200);
    let (path, tree) = (format!("/v1/agents/{goal}"), format!("/v1/agents/{goal}/tree"));
    let agent = eventually(&site, &path, |agent| agent["title"] == "Naples").await;
    let agent: Agent = serde_json::from_value(agent).unwrap();
    assert_eq!(agent.status.to_string(), "idle", "it has nothing to do");
    assert!(site.get(&tree).await.text.contains("Naples"));
    // It keeps the title when it works.
    say(&site, &goal, "hello").await;
    let is_done = |agent: &Value| agent["status"] == "succeeded";
    assert_eq!(eventually(&site, &path, is_done).await["title"], "Naples");
}

/// Whichever way a person takes: an agent that was created for a task takes nothing up after that. The goal's agent does.
///
/// Shows: S4-R078.
#[tokio::test]
async fn nothing_is_said_to_the_agent_of_an_ended_task() {
    let site = site().await;
    let goal = create(&site).await;
    say(&site, &goal, "a task").await;
    let is_done = |page: &Value| page["data"][0]["status"] == "succeeded";
    let tasks = eventually(&site, &format!("/v1/goals/{goal}/tasks"), is_done).await;
    let agent = format!("/v1/agents/{}", tasks["data"][0]["to"].as_str().unwrap());
    eventually(&site, &agent, |agent| agent["status"] == "succeeded").await;
    let before = data(&site, &format!("{agent}/items")).await;
    for (path, body) in [
        ("messages", json!({ "message": "And buses?" })),
        ("interventions", json!({ "action": "steer", "text": "And buses?" })),
        ("interventions", json!({ "action": "modify", "text": "And buses?" })),
    ] {
        let refused = site.post(&format!("{agent}/{path}"), &body).await.problem(409, "not-now");
        assert!(refused.detail.contains("write to the agent that gave the task"), "{}", refused.detail);
    }
    assert_eq!(data(&site, &format!("{agent}/items")).await, before);
    assert_eq!(data(&site, &format!("{agent}/runs")).await.len(), 1);
    let said = json!({ "message": "And buses?" });
    assert!(site.post(&format!("/v1/agents/{goal}/messages"), &said).await.status.is_success());
}
