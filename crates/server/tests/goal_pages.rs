//! What a thread says of a message that is sent twice, and of tools whose outputs stand on a later page; why a conversation
//! was archived.

use std::sync::Arc;

use entourage_engine::Kinds;
use entourage_llm::{Message, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::quiet;
use entourage_types::Kind;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    goal_site::{create, data, eventually, say, site},
    site::{Site, asking, send},
};

/// The message is one, and the answer says how it stands by then.
///
/// Shows: S4-R013.
#[tokio::test]
async fn a_message_that_is_sent_again_is_shown_as_it_is_by_then() {
    let site = site().await;
    let goal = create(&site).await;
    let path = format!("/api/goals/{goal}/thread_messages");
    let hello = json!({ "content": "hello" });
    let send_it = async || {
        let request = site.request(Method::POST, &path).header("idempotency-key", "one");
        send(request.json(&hello)).await.expect(201)
    };
    let first = send_it().await;
    let is_read =
        |page: &Value| page["data"].as_array().unwrap().iter().any(|shown| shown["source"] == "agent");
    eventually(&site, &path, is_read).await;
    let again = send_it().await;
    assert_eq!((&again["id"], &again["processed"]), (&first["id"], &json!(true)));
    let listed = data(&site, &path).await;
    assert_eq!((&listed[0]["id"], &listed[0]["processed"]), (&first["id"], &json!(true)));
    assert_eq!(listed.iter().filter(|shown| shown["source"] == "user").count(), 1);
}

/// So many calls in one turn that their outputs fill a page.
const CALLS: usize = 70;

fn many() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        let note = |nth: usize| json!({ "title": format!("Note {nth}"), "content": "It is blue." });
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if text == "many" => (1..CALLS)
                .fold(Script::call("create_note", note(0)), |script, nth| {
                    script.and_call("create_note", note(nth))
                }),
            _ => Script::call("send_message", json!({ "message": "Done." })),
        }))
    })
}

#[tokio::test]
async fn a_tool_is_shown_as_it_ended_also_where_its_output_is_far_behind_the_page() {
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let engine = asking(Arc::new(many()), store, quiet(Kinds::builtin()));
    let site = Site::serving(engine, Settings::default()).await;
    site.work();
    let goal = create(&site).await;
    let path = format!("/api/goals/{goal}/thread_messages");
    say(&site, &goal, "many").await;
    eventually(&site, &format!("/api/goals/{goal}"), |goal| goal["status"] == "waiting").await;
    let items = site.get(&format!("/v1/agents/{goal}/items?limit=200")).await.expect(200);
    let turn = items["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["calls"].as_array().is_some_and(|calls| calls.len() == CALLS));
    let turn = turn.unwrap()["seq"].as_u64().unwrap();
    let behind = site.client().agent(goal.parse().unwrap()).await.unwrap().items - turn - 1;
    assert!(behind > 64, "{behind}");
    let newest = site.get(&format!("{path}?limit={behind}")).await.expect(200);
    let cursor = newest["next_cursor"].as_str().unwrap();
    let older = data(&site, &format!("{path}?limit=10&cursor={cursor}")).await;
    let ended: Vec<&Value> = older.iter().filter(|shown| shown["message_type"] == "tool").collect();
    assert_eq!(ended.len(), CALLS);
    for shown in ended {
        assert_eq!(shown["metadata"]["status"], "completed", "{shown}");
    }
}

/// Only a feed is said to be complete; another trigger that ends sessions has its own word and its name.
///
/// Shows: S4-R051.
#[tokio::test]
async fn a_conversation_that_another_trigger_has_closed_is_no_feed() {
    let mut goal = Kind::clone(&Kinds::builtin().get("goal").unwrap());
    goal.triggers.get_mut("agent_check_in").unwrap().ends_session = true;
    goal.version.clear();
    let site = Site::of_kinds(quiet(Kinds::builtin().with(goal))).await;
    let goal = create(&site).await;
    let check_in = json!({ "name": "agent_check_in" });
    site.post(&format!("/v1/agents/{goal}/triggers"), &check_in).await.expect(202);
    let is_closed = |page: &Value| page["data"].as_array().is_some_and(|all| !all.is_empty());
    let archived = eventually(&site, &format!("/api/goals/{goal}/agent_histories"), is_closed).await;
    assert_eq!(archived["data"][0]["completion_reason"], "trigger_complete");
    let sessions = data(&site, &format!("/v1/agents/{goal}/sessions")).await;
    assert_eq!(
        (&sessions[0]["reason"], &sessions[0]["trigger"]),
        (&json!("triggered"), &json!("agent_check_in"))
    );
}
