//! Usage over HTTP: summed as requested, for the caller's own agents only.

use serde_json::{Value, json};

use crate::site::Site;

fn inputs(report: &Value) -> Vec<&Value> {
    report["data"].as_array().unwrap().iter().map(|row| &row["usage"]["input"]).collect()
}

#[tokio::test]
async fn usage_is_summed_by_the_requested_groups_and_filters() {
    let site = Site::open().await;
    let first = site.done("hello").await;
    site.done("again").await;
    let all = site.get("/v1/usage").await.expect(200);
    assert_eq!(inputs(&all), [20]);
    assert_eq!((&all["total"]["calls"], &all["total"]["unpriced"]), (&json!(2), &json!(2)));
    assert_eq!(all["data"][0]["usage"], all["total"]["usage"]);

    let by = site.get("/v1/usage?group_by=day,model,tree").await.expect(200);
    assert_eq!(inputs(&by), [10, 10]);
    let row = &by["data"][0];
    assert!(row["day"].as_str().is_some_and(|day| day.len() == 10), "{row}");
    assert_eq!((&row["model"], &row["tree"]), (&json!("scripted::script"), &json!(first)));
    assert_eq!((row.get("agent"), row.get("run")), (None, None));

    let by_hour = site.get("/v1/usage?group_by=hour").await.expect(200);
    let hours = by_hour["data"].as_array().unwrap().iter().map(|row| row["hour"].as_str().unwrap());
    assert!(hours.clone().count() > 0 && hours.clone().all(|hour| hour.ends_with(":00:00Z")), "{by_hour}");
    assert_eq!(by_hour["total"], all["total"]);

    let tree = site.get(&format!("/v1/usage?tree={first}&group_by=agent")).await.expect(200);
    assert_eq!((inputs(&tree), &tree["data"][0]["agent"]), (vec![&json!(10)], &json!(first)));
    let past = site.get("/v1/usage?to=1999-12-31&group_by=day").await.expect(200);
    assert_eq!((past["data"].as_array().unwrap().len(), &past["total"]["calls"]), (0, &json!(0)));

    let node = site.get(&format!("/v1/agents/{first}/tree")).await.expect(200);
    assert_eq!((&node["root"]["used"]["calls"], &node["total"]["unpriced"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn an_invalid_usage_query_is_rejected_with_advice() {
    let site = Site::open().await;
    for (query, named) in [
        ("group_by=week", "day, hour, model, owner, kind, tree, agent, run"),
        ("group_by=", "day, hour, model, owner, kind, tree, agent, run"),
        ("from=yesterday", "2026-11-22"),
        ("from=2026-02-30", "2026-11-22"),
        ("colour=red", "colour"),
    ] {
        let problem = site.get(&format!("/v1/usage?{query}")).await.problem(400, "invalid-query");
        assert!(problem.detail.contains(named), "{query}: {}", problem.detail);
    }
    let wrong_way = site.get("/v1/usage?from=2026-02-02&to=2026-02-01").await;
    assert!(wrong_way.problem(422, "invalid-request").detail.contains("swap them"));
    let nobody = format!("agt_{}", "0".repeat(32));
    site.get(&format!("/v1/usage?tree={nobody}")).await.problem(404, "not-found");
}
