//! A whole exploration over HTTP, by the built-in explorer: found, answered and steered through the tree.

use std::{sync::Arc, time::Duration};

use entourage_engine::Kinds;
use entourage_llm::{Error, Price, Request, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::{Asked, quiet, texts};
use serde_json::{Value, json};

use crate::{
    chunks::Chunks,
    site::{Site, asking},
    stream::within,
};

/// A model that asks which one, divides the work in two, and finds no provider for the second part within an hour.
fn decide(request: &Request) -> entourage_llm::Result<Script> {
    let decided = |value: Value| Ok(Script::text(value.to_string()));
    match Asked::by(request) {
        Asked::Clarify => decided(json!({"ambiguous": true, "question": "Which one?"})),
        Asked::Missing => decided(json!({"missing": false, "question": ""})),
        Asked::Subquestions => decided(json!({"subquestions": ["part 0", "part 1"]})),
        Asked::Child(1) => {
            let retry_after = Some(Duration::from_secs(3600));
            Err(Error::RateLimited { model: "m".into(), retry_after })
        }
        Asked::Main | Asked::Child(_) => Ok(Script::text("found")),
        Asked::Summary => {
            let summary = format!("red: {}", texts(request).contains("the red one"));
            decided(json!({"summary": summary, "needs_more_info": false, "question": ""}))
        }
    }
}

async fn open() -> Site {
    let price = Price { input: 1.0, output: 2.0, cached: None, cache_written: None };
    let model = ScriptedModel::deciding(|request| Some(decide(request))).priced(price);
    let store = Arc::new(SqliteStore::in_memory().expect("a store"));
    let site =
        Site::serving(asking(Arc::new(model), store, quiet(Kinds::builtin())), Settings::default()).await;
    site.work();
    site
}

/// Waits until the list of active agents is as wanted, and returns it.
async fn active(site: &Site, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let read = async {
        loop {
            let Value::Array(agents) = site.get("/v1/agents/active").await.expect(200)["data"].take() else {
                panic!("a list")
            };
            if wanted(&agents) {
                return agents;
            }
            tokio::task::yield_now().await;
        }
    };
    within("the agents are there", read).await
}

/// Shows: S3-R005, S3-R081, S3-R097, S3-R098.
#[tokio::test]
async fn an_exploration_is_found_answered_and_steered_through_the_tree_alone() {
    let site = open().await;
    let mut stream = Chunks::post(&site, &json!({"prompt": "Go.", "agentId": "scout"})).await;
    stream.until("user-query").await;

    // Another system knows nothing but the tree.
    let [asks] = &active(&site, |agents| !agents[0]["question"].is_null()).await[..] else { panic!("one") };
    assert_eq!((&asks["state"], &asks["question"]["text"]), (&json!("awaiting_user"), &json!("Which one?")));
    assert_eq!(asks["used"]["calls"], 1);
    let tree = site.get("/agent/tree").await.expect(200);
    let (name, _) = tree.as_object().unwrap().iter().next().unwrap();
    let answer = json!({"response": "the red one"});
    site.post(&format!("/agent/{name}/answer"), &answer).await.expect(200);

    // The main work is done, one child has ended, and the other waits for its provider.
    let at_the_join = |agents: &[Value]| {
        agents.len() == 2
            && !agents[1]["retry_due"].is_null()
            && agents[0]["subtree"]["agents"]["succeeded"] == 1
            && agents[0]["status"] == "waiting"
    };
    let agents = active(&site, at_the_join).await;
    let [above, below] = &agents[..] else { panic!("{agents:#?}") };
    assert_eq!((&above["name"], &above["step"]), (&json!("scout"), &json!("join/explore/children")));
    assert_eq!((&below["parent_name"], &below["depth"]), (&json!("scout"), &json!(1)));
    assert_eq!((&below["content"], &below["used"]["calls"]), (&json!("part 1"), &json!(0)));
    // In nanodollars: four answers of 10 tokens in and 5 out each, and one more below.
    assert_eq!(above["used"]["cost"], 80_000);
    assert_eq!(above["subtree"]["used"]["cost"], 100_000);

    let deleted = json!({"userComment": "delete"});
    let child = below["id"].as_str().unwrap();
    let done = site.post(&format!("/agent/{child}/intervene"), &deleted).await.expect(200);
    assert_eq!(done, json!({"success": true}));
    let seen = stream.until("finish").await;
    let result = seen.iter().find(|chunk| chunk["type"] == "result").unwrap();
    assert_eq!(result["result"], "red: true");
    assert_eq!(site.get("/agent/tree").await.expect(200), json!({}));
    let mut states = seen.iter().filter(|chunk| chunk["type"] == "agent-state" && chunk["agentId"] == child);
    assert_eq!(states.next_back().unwrap()["state"], "deleted");
}

/// What a child came to is not the user's, and says whose it is and how it ended.
///
/// Shows: S3-R085.
#[tokio::test]
async fn what_children_came_to_is_shown_as_theirs() {
    let site = open().await;
    let mut stream = Chunks::post(&site, &json!({"prompt": "Go.", "agentId": "scout"})).await;
    stream.until("user-query").await;
    active(&site, |agents| !agents[0]["question"].is_null()).await;
    site.post("/agent/scout/answer", &json!({"response": "the red one"})).await.expect(200);
    let below = active(&site, |agents| agents.len() == 2 && !agents[1]["retry_due"].is_null()).await;
    let child = below[1]["id"].as_str().unwrap();
    site.post(&format!("/agent/{child}/intervene"), &json!({"userComment": "delete"})).await.expect(200);
    stream.until("finish").await;
    let shown = site.get("/agent/scout").await.expect(200);
    let said = shown["messages"].as_array().unwrap();
    let of_users: Vec<&Value> =
        said.iter().filter(|said| said["role"] == "user").map(|said| &said["content"]).collect();
    assert_eq!(of_users, ["Go."]);
    let of_children: Vec<(&str, &Value)> = said
        .iter()
        .filter(|said| said["role"] == "system" && said["agentId"].is_string())
        .map(|said| (said["status"].as_str().unwrap(), &said["content"]))
        .collect();
    assert_eq!(of_children.len(), 2, "{said:#?}");
    assert!(of_children.contains(&("completed", &json!("found"))), "{of_children:?}");
    assert!(of_children.iter().any(|(status, _)| *status == "deleted"), "{of_children:?}");
    assert_eq!(shown["earlierItems"], 0);
}
