//! A tree as it was after one of its events.

use std::time::Duration;

use entourage_api::{PastTree, TimelineBucket, Tree};
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

/// The buckets hold every event that is kept once, and their times are those of the events.
#[tokio::test]
async fn a_timeline_divides_the_events_of_a_tree() {
    let site = Site::open().await;
    let id = site.done("tell hello").await;
    let agent = id.parse().unwrap();
    let path = format!("/v1/agents/{id}/timeline");
    let divided = async |buckets: u32| {
        let events = site.client().events(agent, None, 1_000).await.unwrap();
        let shown = site.get(&format!("{path}?buckets={buckets}")).await.expect(200);
        let shown: Vec<TimelineBucket> = serde_json::from_value(shown["data"].clone()).unwrap();
        let mut next = events[0].seq;
        for TimelineBucket { first, last, began, ended } in &shown {
            assert_eq!(*first, next, "{shown:?}");
            let at = |number: u64| events.iter().find(|event| event.seq == number).unwrap().at;
            assert_eq!((*began, *ended), (at(*first), at(*last)));
            next = last + 1;
        }
        assert_eq!(next, events.last().unwrap().seq + 1, "{shown:?}");
        (shown.len(), events.len())
    };
    for (buckets, expected) in [(1, 1), (7, 7)] {
        assert_eq!(divided(buckets).await.0, expected);
    }
    let (shown, events) = divided(200).await;
    assert_eq!(shown, events, "no bucket is empty");
    for refused in ["0", "201", "many"] {
        site.get(&format!("{path}?buckets={refused}")).await.problem(400, "invalid-query");
    }
    let retention = Retention { events: Some(Duration::from_micros(1)), ..Retention::default() };
    assert!(site.engine.prune(&retention).await.unwrap().events > 0);
    assert_eq!(divided(60).await, (1, 1), "the last one is kept");
}
