//! Messages that are acted upon, over HTTP: what they answer, as one response and as a stream.

use std::sync::Arc;

use entourage_engine::Kinds;
use entourage_llm::{Error as ModelError, Request, Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store_sqlite::SqliteStore;
use entourage_testkit::quiet;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    site::{Answer, Site, asking, send},
    stream::Stream,
};

/// A model that decides what the message says as JSON, and writes a soup with salt.
fn obedient(request: &Request) -> Result<Script, ModelError> {
    let text = request.messages.iter().rev().find_map(|message| match message {
        entourage_llm::Message::User(text) => Some(text.as_str()),
        _ => None,
    });
    let said = text.unwrap_or_default();
    if request.output_schema.is_none() {
        return Ok(Script::text("# Soup\n\nWater, salt.\n"));
    }
    if said.contains("BREAK") {
        return Err(ModelError::Refused { model: "m".into(), cause: "500".into() });
    }
    let decision =
        said.rsplit_once("DECIDE ").map_or("{}", |(_, rest)| rest.split("END").next().unwrap_or("{}"));
    Ok(Script::text(decision.replace("&quot;", "\"")))
}

async fn kitchen() -> Site {
    let store = Arc::new(SqliteStore::in_memory().expect("a store"));
    let model = ScriptedModel::deciding(|request| Some(obedient(request)));
    let engine = asking(Arc::new(model), store, quiet(Kinds::builtin()));
    let site = Site::serving(engine, Settings::default()).await;
    site.work();
    site.post("/api/projects", &json!({ "name": "Kitchen", "description": "Food." })).await.expect(201);
    let soup = json!({ "name": "Recipes", "content": "# Soup\n\nWater.\n" });
    site.post("/api/projects/1/documents", &soup).await.expect(201);
    site
}

async fn act(site: &Site, body: Value) -> Answer {
    site.post("/api/agent/act", &body).await
}

fn deciding(decision: &Value) -> String {
    format!("Please. DECIDE {decision}END")
}

/// Shows: S5-R001, S5-R002, S5-R003, S5-R006, S5-R007, S5-R015, S5-R018, S5-R048, S5-R099, S5-R100, S5-R101, S5-R110, S5-R111, S5-R112, S5-R113, S5-R114, S5-R115.
#[tokio::test]
async fn an_act_answers_with_what_it_did() {
    let site = kitchen().await;
    let edit =
        json!({ "should_edit": true, "document_id": 1, "intent_statement": "I'll salt it.", "extra": [1] });
    let done = act(&site, json!({ "message": deciding(&edit), "project_id": 1, "document_id": 1 }))
        .await
        .expect(200);
    assert_eq!(done["document"]["content"], "# Soup\n\nWater, salt.\n");
    assert_eq!((&done["document"]["id"], &done["document"]["project_id"]), (&json!(1), &json!(1)));
    assert_eq!((&done["document"]["name"], &done["document"]["version"]), (&json!("Recipes"), &json!(2)));
    assert_eq!(done["agent_decision"]["extra"], json!([1]), "unknown fields are kept");
    assert_eq!(done["web_search_performed"], false);
    let said = &done["chat_message"];
    assert_eq!((&said["role"], &said["chat_id"]), (&json!("assistant"), &json!(1)));
    let metadata = &said["metadata"];
    assert_eq!((&metadata["document_updated"], &metadata["should_create"]), (&json!(true), &json!(false)));
    assert_eq!(metadata["decision"], done["agent_decision"]);
    // The same chat goes on.
    let create = json!({ "should_create": true, "document_name": "Stew", "document_content": "# Stew" });
    let made = act(&site, json!({ "message": deciding(&create), "chat_id": 1 })).await.expect(200);
    assert_eq!((&made["document"]["name"], &made["document"]["id"]), (&json!("Stew"), &json!(2)));
    assert_eq!(made["chat_message"]["metadata"]["document_updated"], false);
    assert_eq!(made["chat_message"]["chat_id"], 1);
    // A conversation changes nothing.
    let talk = act(&site, json!({ "message": "Hello?", "project_id": 1, "chat_id": 1 })).await.expect(200);
    assert_eq!((&talk["document"], &talk["agent_decision"]), (&Value::Null, &json!({})));
    let listed = site.get("/api/agent/chats/1/messages").await.expect(200);
    let listed = listed["data"].as_array().unwrap().clone();
    let roles: Vec<&str> = listed.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user", "assistant"]);
    assert_eq!((&listed[0]["content"], &listed[0]["metadata"]), (&json!(deciding(&edit)), &json!({})));
    assert_eq!((&listed[4]["content"], &listed[4]["metadata"]), (&json!("Hello?"), &json!({})));
    assert_eq!([&listed[1], &listed[3], &listed[5]], [said, &made["chat_message"], &talk["chat_message"]]);
    let ids: Vec<u64> = listed.iter().map(|message| message["id"].as_u64().unwrap()).collect();
    assert!(ids.is_sorted() && ids.windows(2).all(|two| two[0] != two[1]), "{ids:?}");
    // In pages of one.
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = site.get(&format!("/api/agent/chats/1/messages?limit=1{cursor}")).await.expect(200);
        paged.extend(page["data"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(paged, listed);
    let chats = site.get("/api/projects/1/chats").await.expect(200);
    assert_eq!(chats["data"], json!([site.get("/api/agent/chats/1").await.expect(200)]));
}

/// Shows: S5-R009, S5-R010, S5-R012.
#[tokio::test]
async fn an_unknown_chat_and_one_of_another_project_begin_a_new_one() {
    let site = kitchen().await;
    site.post("/api/projects", &json!({ "name": "Garden" })).await.expect(201);
    let chat_of = async |body| act(&site, body).await.expect(200)["chat_message"]["chat_id"].clone();
    assert_eq!(chat_of(json!({ "message": "a", "project_id": 1 })).await, 1);
    assert_eq!(chat_of(json!({ "message": "a", "project_id": 1, "chat_id": 9 })).await, 2);
    assert_eq!(chat_of(json!({ "message": "a", "project_id": 2, "chat_id": 1 })).await, 3);
    assert_eq!(
        chat_of(json!({ "message": "a", "chat_id": 3, "document_id": 77, "project_id": null })).await,
        3
    );
}

/// Shows: S5-R120, S5-R121.
#[tokio::test]
async fn a_model_that_fails_is_an_answer_and_changes_nothing() {
    let site = kitchen().await;
    for message in ["BREAK", "DECIDE no JSON at allEND"] {
        let failed = act(&site, json!({ "message": message, "project_id": 1 })).await.expect(200);
        assert!(failed["agent_decision"]["error"].is_string(), "{failed}");
        assert_eq!(failed["document"], Value::Null);
        assert!(!failed["chat_message"]["content"].as_str().unwrap().is_empty());
        let chat = failed["chat_message"]["chat_id"].clone();
        let kept = site.get(&format!("/api/agent/chats/{chat}/messages")).await.expect(200);
        assert_eq!(kept["data"][0]["content"], message);
    }
    assert_eq!(site.get("/api/documents/1").await.expect(200)["version"], 1);
}

#[tokio::test]
async fn an_act_as_a_stream_ends_with_the_same_document() {
    let site = kitchen().await;
    let open = async |message: &str, key: &str| {
        let request = site.request(Method::POST, "/api/agent/act").header("accept", "text/event-stream");
        let body = json!({ "message": message, "project_id": 1 });
        Stream::open(request.header("idempotency-key", key).json(&body)).await
    };
    let frames = open("Tell me.", "one").await.until(|frame| frame.event == "done").await;
    let text: String = frames
        .iter()
        .filter(|frame| frame.event == "text")
        .map(|frame| frame.data["text"].as_str().unwrap_or_default())
        .collect();
    let done = &frames.last().unwrap().data;
    assert_eq!(text.trim(), done["chat_message"]["content"].as_str().unwrap());
    assert_eq!((&*frames[0].event, &frames[0].data), ("progress", &json!({ "stage": "deciding" })));
    // The same request under the same key gets the same answer, in either form.
    let again = open("Tell me.", "one").await.until(|frame| frame.event == "done").await;
    assert_eq!(again.last().unwrap().data, *done);
    let request = site.request(Method::POST, "/api/agent/act").header("idempotency-key", "one");
    let plain = send(request.json(&json!({ "message": "Tell me.", "project_id": 1 }))).await.expect(200);
    assert_eq!(plain, *done);
    let request = site.request(Method::POST, "/api/agent/act").header("idempotency-key", "one");
    let other = send(request.json(&json!({ "message": "Tell me more.", "project_id": 1 }))).await;
    assert_eq!(other.expect(422)["detail"][0]["loc"], json!(["header", "idempotency-key"]));
    let messages = site.get("/api/agent/chats/1/messages").await.expect(200);
    assert_eq!(messages["data"].as_array().unwrap().len(), 2, "it was said once");
    // What it did stays what it did, whatever is written since.
    let edit =
        json!({ "message": deciding(&json!({ "should_edit": true, "document_id": 1 })), "project_id": 1 });
    let keyed = async || {
        let request = site.request(Method::POST, "/api/agent/act").header("idempotency-key", "two");
        send(request.json(&edit)).await.expect(200)
    };
    let first = keyed().await;
    let change = site.request(Method::PUT, "/api/documents/1").header("if-match", "*");
    send(change.json(&json!({ "name": "Renamed", "content": "Else." }))).await.expect(200);
    assert_eq!(keyed().await, first);
}

/// An act answers with its own run, whatever else is said in the chat.
///
/// Shows: S5-R021.
#[tokio::test]
async fn acts_at_once_in_one_chat_each_get_their_own_answer() {
    let site = kitchen().await;
    act(&site, json!({ "message": "First.", "project_id": 1 })).await.expect(200);
    let all = futures::future::join_all((0..8).map(|number| {
        let say = json!({ "conversational_response": format!("Answer {number}.") });
        act(&site, json!({ "message": deciding(&say), "chat_id": 1 }))
    }));
    for (number, answer) in all.await.into_iter().enumerate() {
        assert_eq!(answer.expect(200)["chat_message"]["content"], format!("Answer {number}."));
    }
    let listed = site.get("/api/agent/chats/1/messages").await.expect(200);
    let roles: Vec<&Value> = listed["data"].as_array().unwrap().iter().map(|said| &said["role"]).collect();
    assert_eq!(roles, [json!("user"), json!("assistant")].iter().cycle().take(18).collect::<Vec<_>>());
}

/// A request that is repeated after others were answered gets the answer of its own run, not the newest one.
#[tokio::test]
async fn an_act_that_is_repeated_later_has_its_own_answer() {
    let site = kitchen().await;
    let say = |text: &str| deciding(&json!({ "conversational_response": text }));
    let begin = async || {
        let request = site.request(Method::POST, "/api/agent/act").header("idempotency-key", "begin");
        send(request.json(&json!({ "message": say("One."), "project_id": 1 }))).await.expect(200)
    };
    let first = begin().await;
    let second = act(&site, json!({ "message": say("Two."), "chat_id": 1 })).await.expect(200);
    assert_eq!(second["chat_message"]["content"], "Two.");
    assert_eq!(begin().await, first);
    assert_eq!(first["chat_message"]["content"], "One.");
}

/// The surface translates, and what is behind it is the same for both.
///
/// Shows: S5-R116.
#[tokio::test]
async fn the_native_surface_acts_with_its_own_ids() {
    let site = kitchen().await;
    let project = site.get("/v1/projects").await.expect(200)["data"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/projects/{project}/acts");
    let edit = json!({ "should_edit": true, "document_id": 1 });
    let done = site.post(&path, &json!({ "message": deciding(&edit) })).await.expect(200);
    assert_eq!((&done["outcome"], &done["document"]["version"]), (&json!("updated"), &json!(2)));
    let more = json!({ "message": "And?", "chat": done["chat"], "document": done["document"]["id"] });
    let more = site.post(&path, &more).await.expect(200);
    assert_eq!((&more["chat"], &more["outcome"]), (&done["chat"], &json!("conversation")));
    let chats = site.get(&format!("/v1/projects/{project}/chats")).await.expect(200);
    assert_eq!(chats["data"][0]["agent"], done["chat"]);
    site.post(&path, &json!({ "message": " " })).await.problem(422, "invalid-request");
}
