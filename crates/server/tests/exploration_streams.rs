//! The stream of an exploration over HTTP: what starts one, what goes on with one, and what is refused.

use std::{sync::Arc, time::Duration};

use entourage_llm::{Script, ScriptedModel};
use entourage_server::Settings;
use entourage_store::Store;
use entourage_store_sqlite::SqliteStore;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    auth::{settings, token_of},
    chunks::{Chunks, Ended},
    explorations::{kinds, open},
    site::{Site, asking, send},
};

fn types(chunks: &[Value]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect()
}

/// The text of the answers, as a client puts it together: a `step-start` without a `step-finish` voids what came since.
fn text(chunks: &[Value]) -> String {
    let (mut whole, mut step) = (String::new(), String::new());
    for chunk in chunks {
        match chunk["type"].as_str().unwrap() {
            "step-start" => step.clear(),
            "text-delta" => step.push_str(chunk["textDelta"].as_str().unwrap()),
            "step-finish" => whole.push_str(&std::mem::take(&mut step)),
            _ => {}
        }
    }
    whole
}

async fn refused(site: &Site, query: &str, status: u16, word: &str) -> String {
    let request = site.request(Method::GET, &format!("/agent/stream{query}"));
    send(request).await.problem(status, word).detail
}

/// Shows: S3-R071, S3-R072, S3-R073, S3-R074, S3-R075, S3-R076, S3-R080, S3-R096.
#[tokio::test]
async fn a_stream_starts_an_agent_and_ends_with_its_result() {
    let site = open().await;
    let mut stream = Chunks::get(&site, "?prompt=note%20it&agentId=scout", None).await;
    let seen = stream.until("finish").await;
    assert!(stream.next().await.is_none());
    assert_eq!(
        types(&seen),
        [
            "agent-state",
            "step-start",
            "tool-call",
            "step-finish",
            "tool-result",
            "step-start",
            "text-delta",
            "step-finish",
            "agent-state",
            "result",
            "finish"
        ]
    );
    assert!(seen.iter().all(|chunk| chunk["agentId"] == "scout"), "{seen:#?}");
    assert_eq!([&seen[0]["state"], &seen[8]["state"]], [&json!("running"), &json!("completed")]);
    assert_eq!((&seen[2]["toolName"], &seen[2]["args"]["title"]), (&json!("create_note"), &json!("Found")));
    assert_eq!(seen[4]["toolCallId"], seen[2]["toolCallId"]);
    assert_eq!(seen[9]["metadata"], json!({"subagents": []}));
    assert_eq!(seen[9]["result"], text(&seen).as_str());
    // A browser reconnects when a stream ends, and is told that there is no more.
    let last = stream.last_id.unwrap();
    let again = site.request(Method::GET, "/agent/stream?prompt=note%20it&agentId=scout");
    let again = again.header("last-event-id", &last).send().await.unwrap();
    assert_eq!(again.status(), 204);
    let agents = site.get("/v1/agents").await.expect(200);
    assert_eq!(agents["data"].as_array().unwrap().len(), 1, "none was started for it");
}

/// Shows: S3-R007, S3-R096, S3-R102.
#[tokio::test]
async fn an_active_agent_is_gone_on_with_by_get_and_refused_by_post() {
    let site = open().await;
    let mut first = Chunks::get(&site, "?prompt=ask&agentId=scout", None).await;
    let asked = first.until("user-query").await;
    // The connection is lost; the question stays open.
    let last = first.last_id.take().unwrap();
    drop(first);
    let answer = site.post("/agent/stream", &json!({"prompt": "ask", "agentId": "scout"})).await;
    assert!(answer.problem(409, "not-now").detail.contains("active already"));
    let mut again = Chunks::get(&site, "?agentId=scout", None).await;
    assert_eq!(again.until("user-query").await, asked, "from its beginning");
    let mut resumed = Chunks::get(&site, "", Some(&last)).await;
    site.post("/agent/scout/answer", &json!({"response": "red"})).await.expect(200);
    let rest = resumed.until("finish").await;
    assert!(!types(&rest).contains(&"user-query"), "what it had does not come again: {rest:#?}");
    assert_eq!(types(&rest).iter().filter(|kind| **kind == "user-answer").count(), 1);
    assert_eq!(text(&rest), "It came back: red");
    let mut whole = asked.clone();
    whole.extend(again.until("finish").await);
    assert_eq!(types(&whole), types(&[asked, rest].concat()));
}

/// Shows: S3-R008, S3-R079.
#[tokio::test]
async fn what_cannot_be_started_is_refused_and_starts_nothing() {
    let site = open().await;
    for (query, status, word, why) in [
        ("", 422, "invalid-request", "blank"),
        ("?prompt=%20", 422, "invalid-request", "blank"),
        ("?prompt=go&agentId=tree", 422, "invalid-request", "something else"),
        ("?prompt=go&agentId=", 422, "invalid-request", "0 bytes"),
        ("?prompt=go&parentId=nobody", 404, "not-found", "nobody"),
        ("?prompt=go&agent=x", 400, "invalid-query", "agent"),
        ("?prompt=go&token=unknown", 401, "unauthorized", "stream-token"),
    ] {
        let detail = refused(&site, query, status, word).await;
        assert!(detail.contains(why), "{query}: {detail}");
    }
    for (body, why) in [
        (json!({}), "neither a prompt nor a message"),
        (json!({"messages": []}), "neither a prompt nor a message"),
        (json!({"prompt": "a", "messages": []}), "not both"),
        (json!({"messages": [{"role": "assistant", "content": "hi"}]}), "not the user's"),
    ] {
        let detail = site.post("/agent/stream", &body).await.problem(422, "invalid-request").detail;
        assert!(detail.contains(why), "{body}: {detail}");
    }
    for odd in [
        json!([{"role": "tool", "content": "hi"}]),
        json!([{"role": "user", "content": [{"type": "reasoning", "text": "hi"}]}]),
    ] {
        site.post("/agent/stream", &json!({"messages": odd})).await.problem(422, "invalid-body");
    }
    let wrong = site.request(Method::GET, "/agent/stream").header("last-event-id", "7");
    send(wrong).await.problem(400, "invalid-header");
    assert_eq!(site.get("/v1/agents").await.expect(200)["data"], json!([]));
}

/// Shows: S3-R077.
#[tokio::test]
async fn a_history_of_the_ai_sdk_is_gone_on_with() {
    let site = open().await;
    let messages = json!([
        {"role": "user", "content": "Hello.", "id": "1"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello, too."}]},
        {"role": "user", "content": [{"type": "text", "text": "note it"}]},
    ]);
    let mut stream = Chunks::post(&site, &json!({"messages": messages, "agentId": "scout"})).await;
    stream.until("finish").await;
    let shown = site.get("/agent/scout").await.expect(200);
    assert_eq!(shown["messages"][0], json!({"role": "user", "content": "Hello."}));
    assert_eq!(shown["messages"][2], json!({"role": "user", "content": "note it"}));
    assert_eq!(shown["userContent"], "note it");
}

/// A token starts one agent, follows that one alone, also in the next process, and is of use nowhere else.
///
/// Shows: S3-R096.
#[tokio::test]
async fn a_stream_token_starts_one_agent_and_follows_it_alone() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("a store"));
    let engine = || crate::site::engine_of(Arc::clone(&store), kinds());
    let site = Site::serving(engine(), settings()).await;
    site.work();
    let alice = site.bearing(&token_of("alice"));
    let made = alice.post("/agent/stream-token", &json!({})).await.expect(201);
    let query = format!("?prompt=ask&token={}", made["token"].as_str().unwrap());
    let mut first = Chunks::get(&site, &query, None).await;
    first.until("user-query").await;
    let last = first.last_id.take().unwrap();
    let [agent] = &alice.get("/v1/agents").await.expect(200)["data"].as_array().unwrap().clone()[..] else {
        panic!("one agent")
    };
    // The same address again, and with another prompt: the same agent.
    for query in [&query, &query.replace("ask", "hello")] {
        let mut same = Chunks::get(&site, query, None).await;
        assert_eq!(same.until("user-query").await.last().unwrap()["agentId"], agent["id"]);
    }
    // Of use for nothing else.
    let token = made["token"].as_str().unwrap();
    for path in ["/agent/tree", "/v1/agents"] {
        site.get(&format!("{path}?token={token}")).await.problem(401, "unauthorized");
    }
    site.bearing(token).get("/agent/tree").await.problem(401, "unauthorized");
    let mut other = Chunks::post(&alice, &json!({"prompt": "ask"})).await;
    other.until("user-query").await;
    let foreign = site.request(Method::GET, &format!("/agent/stream{query}"));
    let foreign = foreign.header("last-event-id", other.last_id.unwrap());
    send(foreign).await.problem(401, "unauthorized");
    // The next process knows it.
    site.stop.cancel();
    let next = Site::serving(engine(), settings()).await;
    next.work();
    let resumed = next.request(Method::GET, &format!("/agent/stream{query}")).header("last-event-id", &last);
    let mut resumed = Chunks::open(resumed).await;
    let id = agent["id"].as_str().unwrap();
    let answered = next.bearing(&token_of("alice"));
    answered.post(&format!("/agent/{id}/answer"), &json!({"response": "red"})).await.expect(200);
    let rest = resumed.until("finish").await;
    assert!(!types(&rest).contains(&"user-query"));
    let over = next.request(Method::GET, &format!("/agent/stream{query}"));
    let over = over.header("last-event-id", resumed.last_id.unwrap()).send().await.unwrap();
    assert_eq!(over.status(), 204);
    let agents = answered.get("/v1/agents").await.expect(200);
    assert_eq!(agents["data"].as_array().unwrap().len(), 2, "one by each of both");
}

/// Shows: S3-R096.
#[tokio::test]
async fn a_stream_token_for_a_name_starts_no_other_agent_and_two_uses_at_once_start_one() {
    let site = open().await;
    let made = site.post("/agent/stream-token", &json!({"agentId": "scout"})).await.expect(201);
    let token = made["token"].as_str().unwrap();
    let detail =
        refused(&site, &format!("?prompt=ask&agentId=other&token={token}"), 422, "invalid-request").await;
    assert!(detail.contains("scout"), "{detail}");
    site.post("/agent/stream-token", &json!({"agentId": "tree"})).await.problem(422, "invalid-request");
    let query = format!("?prompt=ask&agentId=scout&token={token}");
    let both = futures::future::join_all((0..8).map(|_| Chunks::get(&site, &query, None))).await;
    for mut stream in both {
        stream.until("user-query").await;
    }
    assert_eq!(site.get("/v1/agents").await.expect(200)["data"].as_array().unwrap().len(), 1);
}

/// A browser gives up for good on anything but a stream: of many that start one name at once, all follow one agent.
///
/// Shows: S3-R096.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_who_start_one_name_at_the_same_moment_follow_one_agent() {
    let site = open().await;
    for round in 0..20 {
        let token =
            site.post("/agent/stream-token", &json!({"agentId": format!("t{round}")})).await.expect(201);
        let token = token["token"].as_str().unwrap();
        for query in [format!("n{round}"), format!("t{round}&token={token}")] {
            let query = format!("?prompt=ask&agentId={query}");
            let tries = (0..6)
                .map(|_| tokio::spawn(site.request(Method::GET, &format!("/agent/stream{query}")).send()));
            let mut agents = Vec::new();
            for response in futures::future::join_all(tries).await {
                let mut stream = Chunks::of(response.unwrap().unwrap()).await;
                let asked = stream.until("user-query").await;
                agents.push(asked.last().unwrap()["queryId"].clone());
            }
            agents.dedup();
            assert_eq!(agents.len(), 1, "{query}: {agents:?}");
        }
    }
    assert_eq!(site.get("/agent/tree").await.expect(200).as_object().unwrap().len(), 40);
}

/// How many cuts are tried; set `CUTS` to try more.
fn cuts() -> usize {
    std::env::var("CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(50)
}

/// A client whose connection is cut again and again, at whatever byte, has every chunk once and in order.
///
/// Shows: S3-R071, S3-R102.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_cut_at_any_byte_loses_doubles_and_reorders_nothing() {
    let words: String = (0..400).map(|word| format!("wörd {word} — ")).collect();
    let said = words.clone();
    let mut made = 0;
    let mut seed = 0x5eed_u64;
    while made < cuts() {
        let answer = said.clone();
        let model = ScriptedModel::deciding(move |_| Some(Ok(Script::text(answer.clone()))));
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("a store"));
        let settings = Settings { heartbeat: Duration::from_millis(20), ..Settings::default() };
        let site = Site::serving(asking(Arc::new(model), store, kinds()), settings).await;
        site.work();
        let mut stream = Chunks::get(&site, "?prompt=go&agentId=scout", None).await;
        let (mut seen, mut last) = (Vec::new(), None);
        loop {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bytes = usize::try_from(seed >> 33).unwrap() % 12_000 + 1;
            let (part, id, ended) = stream.cut_after(bytes).await;
            seen.extend(part);
            last = id.or(last);
            if ended == Ended::Over {
                break;
            }
            made += 1;
            let again = site.request(Method::GET, "/agent/stream?agentId=scout&prompt=go");
            let again = match &last {
                Some(last) => again.header("last-event-id", last),
                None => again,
            };
            let response = again.send().await.unwrap();
            if response.status() == 204 {
                break;
            }
            stream = Chunks::of(response).await;
        }
        assert_eq!(text(&seen), words);
        let others: Vec<&str> = types(&seen).into_iter().filter(|kind| *kind != "text-delta").collect();
        assert_eq!(
            others,
            ["agent-state", "step-start", "step-finish", "agent-state", "result", "finish"],
            "{made} cuts"
        );
    }
}
