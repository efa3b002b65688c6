//! A tree as it was after one of its events.

use std::time::Duration;

use entourage_api::{PastTree, Tree};
use entourage_engine::Retention;
use serde_json::json;

use crate::site::Site;

#[tokio::test]
async fn a_tree_is_shown_as_it_was_after_an_event() {
    let site = Site::open().await;
    let id = site.done("tell hello").await;
    let path = format!("/v1/agents/{id}/tree");
    let last = site.client().last_event(id.parse().unwrap()).await.unwrap();
    let first = site.get(&format!("{path}?at=1")).await.expect(200);
    let agents = first["agents"].as_array().unwrap();
    assert_eq!(
        (agents.len(), &agents[0]["status"], &agents[0]["title"]),
        (1, &json!("idle"), &json!("tell hello"))
    );
    assert_eq!((&first["at"], &first["last"], &agents[0]["parent"]), (&json!(1), &json!(last), &json!(null)));

    let past: PastTree = site.get(&format!("{path}?at={last}")).await.read();
    let now: Tree = site.get(&path).await.read();
    let (used, now) = (now.total, now.into_agents());
    let shown =
        now.iter().map(|agent| (agent.id, agent.parent, agent.depth, agent.status)).collect::<Vec<_>>();
    let then = past.agents.iter().map(|agent| (agent.id, agent.parent, agent.depth, agent.status));
    assert_eq!((then.collect::<Vec<_>>(), shown.len()), (shown, 2));
    assert_eq!(past.agents.iter().map(|agent| agent.usage.input).sum::<u64>(), used.usage.input);
}

#[tokio::test]
async fn a_number_that_no_event_has_is_refused_and_a_pruned_past_is_gone() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let path = format!("/v1/agents/{id}/tree");
    let last = site.client().last_event(id.parse().unwrap()).await.unwrap();
    for none in [0, last + 1] {
        let problem = site.get(&format!("{path}?at={none}")).await.problem(422, "invalid-request");
        assert!(problem.detail.contains(&format!("1 to {last}")), "{}", problem.detail);
    }
    for malformed in ["now", "-1", ""] {
        site.get(&format!("{path}?at={malformed}")).await.problem(400, "invalid-query");
    }
    let retention = Retention { events: Some(Duration::from_micros(1)), ..Retention::default() };
    assert!(site.engine.prune(&retention).await.unwrap().events > 0);
    let problem = site.get(&format!("{path}?at={last}")).await.problem(410, "past-gone");
    assert!(problem.detail.contains(&format!("up to number {} were pruned", last - 1)), "{}", problem.detail);
    site.get(&path).await.expect(200);
}
