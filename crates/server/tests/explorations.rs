//! Explorations over HTTP, in the words of their design: the tree, one agent, overrides, answers.

use entourage_engine::Kinds;
use entourage_testkit::quiet;
use entourage_types::Kind;
use serde_json::{Value, json};

use crate::{
    auth::{settings, token_of},
    chunks::Chunks,
    site::Site,
    stream::within,
};

/// The built-in kinds, with an explorer that does the main work alone: the model of these tests decides nothing.
pub(crate) fn kinds() -> Kinds {
    let kinds = quiet(Kinds::builtin());
    let assistant = kinds.named("assistant").unwrap();
    let explorer = Kind { name: "explorer".into(), ..Kind::clone(&assistant) };
    kinds.with(explorer)
}

pub(crate) async fn open() -> Site {
    Site::of_kinds(kinds()).await
}

/// Starts an agent that asks, and returns the stream at its question.
async fn asked(site: &Site, name: &str) -> Chunks {
    let mut chunks = Chunks::post(site, &json!({"prompt": "ask", "agentId": name})).await;
    chunks.until("user-query").await;
    awaits_user(site, name).await;
    chunks
}

/// Waits until an agent waits for the user.
async fn awaits_user(site: &Site, name: &str) {
    let waits = async {
        while site.get("/agent/tree").await.expect(200)[name]["status"] != "awaiting_user" {
            tokio::task::yield_now().await;
        }
    };
    within("it awaits the user", waits).await;
}

/// A name leads to the agent that took it last, active or not.
#[tokio::test]
async fn an_agent_is_found_by_its_name_among_all_agents() {
    let site = open().await;
    let mut first = asked(&site, "top").await;
    let found = async |query: &str| site.get(&format!("/v1/agents?{query}")).await.expect(200);
    let top = found("name=top").await;
    assert_eq!((&top["data"][0]["title"], &top["next_cursor"]), (&json!("ask"), &Value::Null));
    let id = top["data"][0]["id"].as_str().unwrap();
    assert_eq!(found(&format!("name={id}")).await, top, "by its id, too");
    assert_eq!(found("name=tree").await["data"], json!([]));

    site.post("/agent/top/answer", &json!({"response": "blue"})).await.expect(200);
    first.until("finish").await;
    assert_eq!(found("name=top&limit=1").await["data"][0]["id"], id, "after its end");
    let _second = asked(&site, "top").await;
    assert_ne!(found("name=top").await["data"][0]["id"], id, "until another takes it");
    for other in ["roots=true", "status=waiting", "unread=true"] {
        site.get(&format!("/v1/agents?name=top&{other}")).await.problem(400, "invalid-query");
    }
}

/// Shows: S3-R005, S3-R082, S3-R085, S3-R097, S3-R099, S3-R100.
#[tokio::test]
async fn the_tree_shows_active_agents_and_one_agent_is_shown_with_all_that_was_said() {
    let site = open().await;
    assert_eq!(site.get("/agent/tree").await.expect(200), json!({}));
    let _top = asked(&site, "top").await;
    let body = json!({"prompt": "ask", "agentId": "child", "parentId": "top", "metadata": {"team": 7}});
    let mut child = Chunks::post(&site, &body).await;
    child.until("user-query").await;
    awaits_user(&site, "child").await;
    let tree = site.get("/agent/tree").await.expect(200);
    let entry = |parent: Value, subagents: Value, metadata: Value, name: &str| {
        let mut shown = tree[name].clone();
        for time in ["createdAt", "updatedAt"] {
            assert!(shown.as_object_mut().unwrap().remove(time).unwrap().is_string());
        }
        let depth = u8::from(!parent.is_null());
        let expected = json!({
            "agentId": name, "parentId": parent, "userContent": "ask", "userComment": "unchanged",
            "status": "awaiting_user", "subagents": subagents, "metadata": metadata,
            "kind": "explorer", "depth": depth,
        });
        assert_eq!(shown, expected);
    };
    entry(Value::Null, json!(["child"]), json!({}), "top");
    entry(json!("top"), json!([]), json!({"team": 7}), "child");
    assert_eq!(tree.as_object().unwrap().len(), 2);

    site.post("/agent/child/answer", &json!({"response": "blue"})).await.expect(200);
    child.until("finish").await;
    assert_eq!(site.get("/agent/tree").await.expect(200).as_object().unwrap().len(), 1);
    let shown = site.get("/agent/child").await.expect(200);
    assert_eq!((&shown["status"], &shown["parentId"]), (&json!("completed"), &json!("top")));
    let roles: Vec<&str> =
        shown["messages"].as_array().unwrap().iter().map(|said| said["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    assert_eq!(shown["messages"][1]["content"][0]["toolName"], "ask_user");
    assert_eq!(shown["messages"][2]["content"][0]["result"], "blue");
    assert_eq!(site.get("/agent/nobody").await.expect(404), json!({"error": "Not found"}));
    let active = site.get("/v1/agents/active").await.expect(200);
    let [top] = &active["data"].as_array().unwrap()[..] else { panic!("one is active: {active}") };
    assert_eq!((&top["name"], &top["question"]["text"]), (&json!("top"), &json!("Which colour?")));
    assert!(active["last_events"][top["root"].as_str().unwrap()].as_u64().unwrap() > 3);
}

/// Shows: S3-R098, S3-R101.
#[tokio::test]
async fn overrides_and_answers_say_whether_they_were_done() {
    let site = open().await;
    let done = json!({"success": true});
    let mut stream = asked(&site, "scout").await;
    let post = async |path: &str, body: Value| site.post(&format!("/agent/{path}"), &body).await;
    assert_eq!(post("scout/intervene", json!({"userComment": "fine so far"})).await.expect(200), done);
    assert_eq!(site.get("/agent/scout").await.expect(200)["userComment"], "fine so far");
    let failed = async |path: &str, body: Value, status: u16, why: &str| {
        let answer = post(path, body).await.expect(status);
        assert_eq!(answer["success"], false, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(why), "{answer}");
    };
    failed("scout/intervene", json!({"status": "asleep"}), 422, "awaiting_user").await;
    failed("scout/intervene", json!({"userComment": " "}), 422, "empty").await;
    failed("scout/answer", json!({"response": ""}), 422, "empty").await;
    failed("nobody/intervene", json!({"userComment": "delete"}), 404, "nobody").await;
    failed("nobody/answer", json!({"response": "blue"}), 404, "nobody").await;
    for (path, body) in [
        ("scout/intervene", json!({"comment": "x"})),
        ("scout/intervene", json!({"userComment": 7})),
        ("scout/answer", json!({})),
        ("scout/answer", json!({"response": 7})),
    ] {
        post(path, body).await.problem(422, "invalid-body");
    }
    let begin = json!({"userComment": "modify", "userContent": "hello"});
    assert_eq!(post("scout/intervene", begin).await.expect(200), done);
    let seen = stream.until("finish").await;
    let states: Vec<&Value> =
        seen.iter().filter(|chunk| chunk["type"] == "agent-state").map(|chunk| &chunk["state"]).collect();
    assert!(states.contains(&&json!("modified")), "{states:?}");
    assert_eq!(seen.iter().find(|chunk| chunk["type"] == "result").unwrap()["result"], "You said: hello");
    failed("scout/intervene", json!({"userComment": "delete"}), 409, "finished").await;
    failed("scout/answer", json!({"response": "blue"}), 409, "open").await;

    let mut stream = asked(&site, "scout").await;
    assert_eq!(post("scout/answer", json!({"response": null})).await.expect(200), done);
    assert_eq!(stream.until("user-answer").await.last().unwrap()["response"], Value::Null, "null declines");
    stream.until("finish").await;
    let mut stream = asked(&site, "scout").await;
    assert_eq!(post("scout/intervene", json!({"status": "deleted"})).await.expect(200), done);
    let seen = stream.until("finish").await;
    let last = seen.iter().rfind(|chunk| chunk["type"] == "agent-state").unwrap();
    assert_eq!(last["state"], "deleted");
    assert_eq!(site.get("/agent/tree").await.expect(200), json!({}));
}

/// What belongs to another owner reads as if it did not exist.
#[tokio::test]
async fn an_agent_of_another_owner_is_unknown() {
    let site = Site::of_kinds_with(kinds(), settings()).await;
    let [alice, eve] = ["alice", "eve"].map(|owner| site.bearing(&token_of(owner)));
    let _stream = asked(&alice, "scout").await;
    assert_eq!(eve.get("/agent/tree").await.expect(200), json!({}));
    assert_eq!(eve.get("/agent/scout").await.expect(404), json!({"error": "Not found"}));
    assert_eq!(eve.get("/v1/agents/active").await.expect(200)["data"], json!([]));
    let delete = json!({"userComment": "delete"});
    assert_eq!(eve.post("/agent/scout/intervene", &delete).await.expect(404)["success"], false);
    assert_eq!(
        eve.post("/agent/scout/answer", &json!({"response": "x"})).await.expect(404)["success"],
        false
    );
    let below = json!({"prompt": "ask", "parentId": "scout"});
    eve.post("/agent/stream", &below).await.problem(404, "not-found");
    // Each owner has names of their own.
    let _other = asked(&eve, "scout").await;
    assert_eq!(alice.get("/agent/tree").await.expect(200).as_object().unwrap().len(), 1);
}
