//! The JSON of the main responses, word for word: what clients in other languages rely on.

use entourage_types::Time;
use serde_json::{Value, json};

use crate::site::Site;

/// The same JSON with the kind of each id instead of the id, and `now` instead of each time.
fn plain(value: Value) -> Value {
    match value {
        Value::String(text) => plain_text(&text).into(),
        Value::Array(values) => values.into_iter().map(plain).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, plain(value))).collect(),
        other => other,
    }
}

fn plain_text(text: &str) -> String {
    let is_hex = |digits: &str| digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    match text.rsplit_once('_') {
        Some((before, digits)) if is_hex(digits) => before.to_owned(),
        _ if serde_json::from_value::<Time>(text.into()).is_ok() => "now".to_owned(),
        _ => text.to_owned(),
    }
}

/// Takes a member whose value differs each time.
#[track_caller]
fn take(of: &mut Value, name: &str) -> Value {
    of.as_object_mut().and_then(|fields| fields.remove(name)).unwrap_or_else(|| panic!("no `{name}`: {of}"))
}

/// The usage of so many calls of the scripted model.
fn usage(calls: u64) -> Value {
    json!({ "input": 10 * calls, "output": 5 * calls, "cached": 0, "cache_written": 0, "reasoning": 0 })
}

/// One call of the scripted model, which has no price.
fn used() -> Value {
    json!({ "model": "scripted::script", "usage": usage(1) })
}

#[tokio::test]
async fn an_agent_and_its_run_are_written_as_documented() {
    let site = Site::open().await;
    let id = site.done("tell hello").await;
    let mut agent = plain(site.get(&format!("/v1/agents/{id}")).await.expect(200));
    assert!(take(&mut agent, "epoch").as_u64() > Some(0));
    assert_eq!(
        agent,
        json!({
            "id": "agt", "owner": "local", "root": "agt", "parent": null, "works_for": "person", "depth": 0, "kind": "assistant",
            "title": "tell hello", "status": "succeeded", "session": 1, "items": 4,
            "created": "now", "updated": "now",
        })
    );

    let runs = site.get(&format!("/v1/agents/{id}/runs")).await.expect(200);
    let steps = format!("/v1/runs/{}/steps", runs["data"][0]["id"].as_str().unwrap());
    let mut run = plain(runs["data"][0].clone());
    assert!(take(&mut run, "worked_ms").is_u64());
    let kind = site.get("/v1/kinds/assistant").await.expect(200);
    assert_eq!(take(&mut run, "kind_version"), kind["version"]);
    let day: Result<entourage_types::Day, _> = serde_json::from_value(take(&mut run["spent"][0], "day"));
    assert!(day.is_ok());
    let spent = json!({
        "model": "scripted::script", "calls": 2, "unpriced": 2, "usage": usage(2), "cost": 0,
    });
    assert_eq!(
        run,
        json!({
            "id": "run", "agent": "agt", "owner": "local", "status": "succeeded", "stop_reason": "completed",
            "tasks": [], "model_calls": 2, "usage": usage(2), "cost": 0, "spent": [spent],
            "started": "now", "ended": "now",
        })
    );

    let step = |key: &str, item: u64| {
        json!({
            "run": "run", "key": key, "state": "done", "result": { "item": item }, "attempt": 1,
            "started": "now", "updated": "now",
        })
    };
    let of_model = |key, item| {
        let mut step = step(key, item);
        step["used"] = used();
        step
    };
    let mut steps = plain(site.get(&steps).await.expect(200));
    for step in steps["data"].as_array_mut().unwrap() {
        if step["key"].as_str().is_some_and(|key| key.starts_with("model/")) {
            assert_eq!(take(step, "asked")["sha256"].as_str().map(str::len), Some(64));
        }
    }
    assert_eq!(steps["data"], json!([of_model("model/1", 1), step("tool/cal", 2), of_model("model/2", 3)]));
}

#[tokio::test]
async fn the_items_of_a_transcript_are_written_as_documented() {
    let site = Site::open().await;
    let id = site.done("tell hello").await;
    let mut items = plain(site.get(&format!("/v1/agents/{id}/items")).await.expect(200));
    let arguments = json!({ "recipient": "researcher", "message": "hello" });
    for item in items["data"].as_array_mut().unwrap().iter_mut().filter(|item| item["type"] == "turn") {
        assert_eq!(take(item, "asked")["sha256"].as_str().map(str::len), Some(64));
    }
    assert_eq!(
        items,
        json!({ "next_from": 4, "data": [
            {
                "agent": "agt", "seq": 0, "run": "run", "session": 1, "at": "now", "type": "message",
                "from": { "by": "user" }, "text": "tell hello", "post": "pst",
            },
            {
                "agent": "agt", "seq": 1, "run": "run", "session": 1, "at": "now", "step": "model/1",
                "type": "turn", "used": used(),
                "calls": [{ "id": "cal", "tool": "send_message", "arguments": arguments }],
            },
            {
                "agent": "agt", "seq": 2, "run": "run", "session": 1, "at": "now", "step": "tool/cal",
                "type": "output", "call": "cal", "tool": "send_message", "text": "You said: hello",
                "effect": { "delegated": "tsk" },
            },
            {
                "agent": "agt", "seq": 3, "run": "run", "session": 1, "at": "now", "step": "model/2",
                "type": "turn", "text": "It came back: You said: hello", "used": used(),
            },
        ]})
    );
}

#[tokio::test]
async fn a_question_is_written_as_documented_while_open_and_once_answered() {
    let site = Site::open().await;
    let (id, question) = site.asked("ask").await;
    let path = format!("/v1/questions/{question}");
    let mut asked = json!({
        "id": "qst", "owner": "local", "root": "agt", "agent": "agt", "kind": "assistant", "run": "run",
        "call": "cal", "about": "information", "text": "Which colour?", "options": ["red", "blue"],
        "status": "open", "path": ["ask"], "created": "now", "updated": "now",
    });
    assert_eq!(plain(site.get(&path).await.expect(200)), asked);
    asked.as_object_mut().unwrap().remove("path");
    (asked["status"], asked["answer"]) = (json!("answered"), json!("blue"));
    let answered = site.post(&format!("{path}/answer"), &json!({ "answer": "blue" })).await.expect(200);
    assert_eq!(plain(answered), asked);
    site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;
    let items = plain(site.get(&format!("/v1/agents/{id}/items?from=2&limit=1")).await.expect(200));
    assert_eq!(items["data"][0]["effect"], json!({ "asked": "qst" }));
}

#[tokio::test]
async fn the_events_of_a_tree_are_written_as_documented() {
    let site = Site::open().await;
    let id = site.done("hello").await;
    let frames = site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;
    let item = |seq: u64, mut body: Value| {
        let mut item = json!({ "agent": "agt", "seq": seq, "run": "run", "session": 1, "at": "now" });
        item.as_object_mut().unwrap().append(body.as_object_mut().unwrap());
        json!({ "event": "item", "item_seq": seq, "item": item })
    };
    let said = json!({ "type": "message", "from": { "by": "user" }, "text": "hello", "post": "pst" });
    let data = json!({ "type": "turn", "step": "model/1", "text": "You said: hello", "used": used() });
    let expected = [
        json!({ "event": "agent_created", "parent": null, "kind": "assistant", "title": "hello" }),
        item(0, said),
        json!({ "event": "run", "run": "run", "status": "running", "usage": usage(0), "cost": 0 }),
        json!({ "event": "agent_status", "status": "running" }),
        item(1, data),
        json!({
            "event": "run", "run": "run", "status": "succeeded", "stop_reason": "completed",
            "usage": usage(1), "cost": 0,
        }),
        json!({ "event": "agent_status", "status": "succeeded" }),
    ];
    assert_eq!(frames.len(), expected.len());
    for ((seq, mut expected), frame) in (1_u64..).zip(expected).zip(frames) {
        assert_eq!((frame.id, Some(frame.event.as_str())), (Some(seq), expected["event"].as_str()));
        (expected["root"], expected["agent"]) = (json!("agt"), json!("agt"));
        (expected["seq"], expected["at"]) = (json!(seq), json!("now"));
        let mut data = plain(frame.data);
        if data["item"]["type"] == "turn" {
            assert_eq!(take(&mut data["item"], "asked")["sha256"].as_str().map(str::len), Some(64));
        }
        assert_eq!(data, expected);
    }
}
