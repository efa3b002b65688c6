//! Agencies over HTTP: list them, write to them, stream their answers, read their threads.

use entourage_engine::{Agency, Kinds, agencies::parse};
use entourage_testkit::quiet;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    auth::{settings, token_of},
    site::{Site, send},
    stream::{Frame, Stream},
};

pub(crate) const RESPONSES: &str = "/v1/agencies/desk/responses";
/// The text that people read if a model refuses a request; the model's own error is
/// `m refuses the request: 500`.
const REFUSED: &str =
    "the service behind the model refused the request; the operator finds the cause in the log";

pub(crate) async fn desk() -> Site {
    Site::of_kinds(kinds()).await
}

/// One of the built-in kinds.
pub(crate) fn agency() -> Agency {
    let file = "---\nname: desk\ndescription: Finds things out.\nentry_points: assistant\n\
                flows: [assistant > researcher]\n---\nBe brief.";
    let (agency, findings) = parse("desk.agency.md", file);
    assert_eq!(findings, []);
    agency.expect("it loads")
}

/// The built-in kinds, two of them joined in the agency.
pub(crate) fn kinds() -> Kinds {
    let mut kinds = quiet(Kinds::builtin());
    kinds.join(agency()).expect("its kinds are there");
    kinds
}

/// The agent and type of each item, in order.
fn agents_and_types(items: &Value) -> Vec<String> {
    let items = items.as_array().expect("a list").iter();
    items
        .map(|item| format!("{} {}", item["agent"].as_str().unwrap(), item["type"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn an_agency_is_listed_with_its_chart() {
    let site = desk().await;
    let list = site.get("/v1/agencies").await.expect(200);
    assert_eq!(list["data"][0]["flows"], json!([{"from": "assistant", "to": "researcher"}]));
    let desk = site.get("/v1/agencies/desk").await.expect(200);
    assert_eq!(
        (&desk["entry_points"], &desk["shared_instructions"]),
        (&json!(["assistant"]), &json!("Be brief."))
    );
    assert!(desk["mermaid"].as_str().unwrap().contains("a0 --> a1"), "{desk}");
    let none = site.get("/v1/agencies/none").await.problem(404, "not-found");
    assert_eq!(none.detail, "there is no agency `none`; there are: desk");
}

#[tokio::test]
async fn a_response_includes_its_items_and_the_chat_can_continue() {
    let site = desk().await;
    let said = json!({"message": "tell me the time", "chat_id": "first"});
    let answer = site.post(RESPONSES, &said).await.expect(200);
    assert_eq!(answer["final_output"], "It came back: You said: me the time");
    assert_eq!((&answer["agent"], &answer["chat_id"]), (&json!("assistant"), &json!("first")));
    let own = ["assistant ToolCallItem", "assistant ToolCallOutputItem", "assistant MessageOutputItem"];
    assert_eq!(agents_and_types(&answer["generated_items"]), own);
    let nested = &answer["nested"][0];
    assert_eq!(
        (&nested["agent"], &nested["caller"], &nested["depth"]),
        (&json!("researcher"), &json!("assistant"), &json!(1))
    );
    assert_eq!(nested["parent_run_id"], answer["run_id"]);
    assert_eq!(answer["usage"]["calls"], 3, "two of the assistant, one of the researcher");

    site.post(RESPONSES, &json!({"message": "tell more", "chat_id": "first"})).await.expect(200);
    let threads = site.get("/v1/agencies/desk/chats/first/threads").await.expect(200);
    let threads = threads["data"].as_array().unwrap();
    let pairs: Vec<_> = threads
        .iter()
        .map(|thread| (thread["agent"].as_str().unwrap(), thread["sender"].as_str().unwrap()))
        .collect();
    assert_eq!(pairs, [("assistant", "user"), ("researcher", "assistant")], "no thread is made twice");
    assert_eq!(threads[1]["items"], 4, "both questions and both answers");
    let other = site.get("/v1/agencies/desk/chats/other/threads").await.expect(200);
    assert_eq!(other["data"], json!([]));
}

#[tokio::test]
async fn a_text_only_request_gets_plain_text_or_a_problem() {
    let site = desk().await;
    let text = site.post(RESPONSES, &json!({"message": "hello", "text_only": true})).await;
    assert_eq!((text.status.as_u16(), text.text.as_str()), (200, "You said: hello"));
    assert_eq!(text.headers["content-type"], "text/plain; charset=utf-8");
    let broken = json!({"message": "break", "text_only": true});
    let why = site.post(RESPONSES, &broken).await.problem(422, "no-answer").detail;
    assert_eq!(why, format!("model_failed: {REFUSED}"));
    // The one model call that this allows is for an answer.
    let short = json!({"message": "tell it", "max_steps": 1});
    let answer = site.post(RESPONSES, &short).await.expect(200);
    assert_eq!((answer["final_output"].is_string(), &answer["error"]), (true, &Value::Null), "{answer}");
    let deep = json!({"message": "tell it", "max_recursion_depth": 0});
    let answer = site.post(RESPONSES, &deep).await.expect(200);
    assert_eq!(answer["nested"], json!([]), "nobody was asked");
    assert_eq!(answer["generated_items"][1]["is_error"], true);
}

/// A failure is reported as a sentence and a code, also for nested runs and in a stream. The run has the
/// provider's own message.
#[tokio::test]
async fn a_failure_is_reported_without_the_providers_error_message() {
    let site = desk().await;
    let told = json!({"code": "model_failed", "text": REFUSED});
    let own = site.post(RESPONSES, &json!({"message": "break"})).await.expect(200);
    assert_eq!((&own["final_output"], &own["error"]), (&Value::Null, &told));
    let nested = site.post(RESPONSES, &json!({"message": "tell break"})).await.expect(200);
    assert_eq!((&nested["error"], &nested["nested"][0]["error"]), (&Value::Null, &told));
    let said = site.request(Method::POST, RESPONSES).json(&json!({"message": "break", "stream": true}));
    let frames = Stream::open(said).await.until(|frame| frame.event == "error").await;
    assert_eq!(frames.last().expect("the end").data["error"], told);
    for shown in [own.to_string(), nested.to_string(), format!("{frames:?}")] {
        assert!(shown.contains(REFUSED) && !shown.contains("m refuses the request"), "{shown}");
    }
    let run = own["run_id"].as_str().expect("an id");
    let run = site.get(&format!("/v1/runs/{run}")).await.expect(200);
    assert_eq!(run["error"], "m refuses the request: 500");
}

#[tokio::test]
async fn a_stream_sends_nested_items_between_the_call_and_its_output() {
    let site = desk().await;
    let request = site.request(Method::POST, RESPONSES);
    let said = json!({"message": "tell me the time", "chat_id": "first", "stream": true});
    let frames = Stream::open(request.json(&said)).await.until(|frame| frame.event == "done").await;
    let items: Vec<Value> =
        frames.iter().filter(|frame| frame.event == "item").map(|frame| frame.data.clone()).collect();
    assert_eq!(
        agents_and_types(&Value::from(items)),
        [
            "assistant MessageInputItem",
            "assistant ToolCallItem",
            "researcher MessageInputItem",
            "researcher MessageOutputItem",
            "assistant ToolCallOutputItem",
            "assistant MessageOutputItem",
        ]
    );
    let done = frames.last().expect("the end");
    assert_eq!(done.data["final_output"], "It came back: You said: me the time");
}

#[tokio::test]
async fn a_disconnecting_client_cancels_its_run_and_the_chat_can_continue() {
    let site = desk().await;
    let said = json!({"message": "later", "chat_id": "first", "stream": true});
    let mut stream = Stream::open(site.request(Method::POST, RESPONSES).json(&said)).await;
    stream.read_until(|frame| frame.data["type"] == "ToolCallItem").await;
    let threads = site.get("/v1/agencies/desk/chats/first/threads").await.expect(200);
    let id = threads["data"][0]["id"].as_str().expect("an id").to_owned();
    drop(stream);
    let ended = |frame: &Frame| frame.event == "run" && frame.data["stop_reason"] == "cancelled";
    site.follow(&id, 0).await.until(ended).await;
    let answer = site.post(RESPONSES, &json!({"message": "hello", "chat_id": "first"})).await.expect(200);
    assert_eq!(answer["final_output"], "You said: hello");
}

#[tokio::test]
async fn a_request_that_waits_for_a_question_gets_its_answer_under_the_same_key() {
    let site = desk().await;
    let said = json!({"message": "tell ask"});
    let once = || site.request(Method::POST, RESPONSES).header("idempotency-key", "k1").json(&said);
    let waits = send(once()).await.expect(202);
    let question = waits["questions"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(
        (&waits["final_output"], &waits["questions"][0]["text"]),
        (&Value::Null, &json!("Which colour?"))
    );
    assert_eq!(waits["usage"]["calls"], 2, "one of the assistant, one of the researcher");
    assert_eq!(waits["usage"]["usage"]["input"], 20);
    assert_eq!(send(once()).await.expect(202), waits, "it is not waited for while the question is open");
    site.post(&format!("/v1/questions/{question}/answer"), &json!({"answer": "blue"})).await.expect(200);
    let answer = send(once()).await.expect(200);
    assert_eq!(answer["final_output"], "It came back: It came back: blue");
    assert_eq!(send(once()).await.expect(200), answer, "and again");
}

#[tokio::test]
async fn an_invalid_agency_message_is_refused_without_effect() {
    let site = desk().await;
    let stranger = json!({"message": "hello", "agent": "researcher"});
    let told = site.post(RESPONSES, &stranger).await.problem(422, "invalid-request").detail;
    assert!(told.contains("`researcher` is no entry point of `desk`; there are: assistant"), "{told}");
    site.post(RESPONSES, &json!({"message": " ", "chat_id": "first"})).await.problem(422, "invalid-request");
    site.post(RESPONSES, &json!({"message": "hello", "chat_id": " "})).await.problem(422, "invalid-request");
    for dots in [".", ".."] {
        let said = json!({"message": "hello", "chat_id": dots});
        let told = site.post(RESPONSES, &said).await.problem(422, "invalid-request").detail;
        assert!(told.starts_with(&format!("no chat can be called `{dots}`")), "{told}");
        let unnamed = site.request(Method::POST, RESPONSES).header("idempotency-key", dots);
        send(unnamed.json(&json!({"message": "hello"}))).await.problem(422, "invalid-request");
    }
    site.post(RESPONSES, &json!({"message": "hello", "shout": true})).await.problem(422, "invalid-body");
    site.post("/v1/agencies/none/responses", &json!({"message": "hello"})).await.problem(404, "not-found");
    let agents = site.get("/v1/agents").await.expect(200);
    assert_eq!(agents["data"], json!([]));
}

/// The description refuses the same names as the server.
#[tokio::test]
async fn the_published_pattern_of_a_chats_name_excludes_exactly_what_is_refused() {
    let site = desk().await;
    let description: Value = serde_json::from_str(&entourage_server::openapi_json()).unwrap();
    let published = &description["components"]["schemas"]["Respond"]["properties"]["chat_id"];
    let published = jsonschema::validator_for(published).unwrap();
    for name in ["", " ", ".", "..", "...", ". ", " .", "..a", "a", "ü", "a.b"] {
        let said = json!({"message": "hello", "chat_id": name});
        let taken = site.post(RESPONSES, &said).await.status == 200;
        assert_eq!(published.is_valid(&json!(name)), taken, "`{name}`");
    }
}

#[tokio::test]
async fn two_owners_may_have_separate_chats_of_the_same_name() {
    let alice = Site::of_kinds_with(kinds(), settings()).await.bearing(&token_of("alice"));
    let bob = alice.bearing(&token_of("bob"));
    let said = json!({"message": "tell it", "chat_id": "first"});
    alice.post(RESPONSES, &said).await.expect(200);
    let threads = "/v1/agencies/desk/chats/first/threads";
    let hers = alice.get(threads).await.expect(200);
    assert_eq!(bob.get(threads).await.expect(200)["data"], json!([]));
    bob.post(RESPONSES, &said).await.expect(200);
    let his = bob.get(threads).await.expect(200);
    assert_ne!(his["data"][0]["id"], hers["data"][0]["id"]);
    assert_eq!(alice.get(threads).await.expect(200), hers, "nothing was added to hers");
}

const CHATS: &str = "/v1/agencies/desk/chats";

fn chat_names(chats: &Value) -> Vec<&str> {
    let chats = chats["data"].as_array().expect("a list").iter();
    chats.map(|chat| chat["name"].as_str().expect("a name")).collect()
}

#[tokio::test]
async fn chats_of_an_agency_are_listed_in_pages() {
    let site = desk().await;
    assert_eq!(site.get(CHATS).await.expect(200), json!({"data": [], "next_cursor": null}));
    for name in ["first", "a b/ü", "third"] {
        site.post(RESPONSES, &json!({"message": "hello", "chat_id": name})).await.expect(200);
    }
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = site.get(&format!("{CHATS}?limit=1{cursor}")).await.expect(200);
        assert_eq!(page["data"].as_array().map(Vec::len), Some(1));
        found.extend(chat_names(&page).into_iter().map(str::to_owned));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    found.sort();
    assert_eq!(found, ["a b/ü", "first", "third"]);
    let chats = site.get(CHATS).await.expect(200);
    let first = chats["data"].as_array().unwrap().iter().find(|chat| chat["name"] == "first").unwrap();
    let threads = site.get("/v1/agencies/desk/chats/first/threads").await.expect(200);
    assert_eq!(first["root"], threads["data"][0]["id"], "its tree begins with its first thread");
    site.get("/v1/agencies/none/chats").await.problem(404, "not-found");
}

#[tokio::test]
async fn a_deleted_chat_is_not_listed_and_its_name_can_be_reused() {
    let site = desk().await;
    let say = async |text: &str| {
        site.post(RESPONSES, &json!({"message": text, "chat_id": "a b/ü"})).await.expect(200);
        site.get(CHATS).await.expect(200)["data"][0]["root"].clone()
    };
    let before = say("hello").await;
    let delete = || send(site.request(Method::DELETE, &format!("{CHATS}/a%20b%2F%C3%BC")));
    assert_eq!(delete().await.status, 204);
    assert_eq!(delete().await.status, 204, "again changes nothing");
    assert_eq!(site.get(CHATS).await.expect(200)["data"], json!([]));
    let old = site.get(&format!("/v1/agents/{}", before.as_str().unwrap())).await.expect(200);
    assert_eq!(old["status"], "cancelled");
    let after = say("hello again").await;
    assert_ne!(before, after);
    let threads = site.get(&format!("{CHATS}/a%20b%2F%C3%BC/threads")).await.expect(200);
    assert_eq!(threads["data"].as_array().map(Vec::len), Some(1));
    assert_eq!((&threads["data"][0]["id"], &threads["data"][0]["items"]), (&after, &json!(2)));
}

#[tokio::test]
async fn chats_of_another_owner_are_neither_listed_nor_deleted() {
    let alice = Site::of_kinds_with(kinds(), settings()).await.bearing(&token_of("alice"));
    let bob = alice.bearing(&token_of("bob"));
    alice.post(RESPONSES, &json!({"message": "hello", "chat_id": "first"})).await.expect(200);
    assert_eq!(bob.get(CHATS).await.expect(200)["data"], json!([]));
    let chat = format!("{CHATS}/first");
    send(bob.request(Method::DELETE, &chat)).await.problem(404, "not-found");
    assert_eq!(chat_names(&alice.get(CHATS).await.expect(200)), ["first"]);
    assert_eq!(send(alice.request(Method::DELETE, &chat)).await.status, 204);
}

#[tokio::test]
async fn a_name_in_a_path_may_have_at_most_255_characters() {
    let site = desk().await;
    let (longest, longer) = ("ü".repeat(255), "ü".repeat(256));
    site.get(&format!("/v1/agencies/{longest}")).await.problem(404, "not-found");
    site.get(&format!("/v1/kinds/{longest}")).await.problem(404, "not-found");
    assert_eq!(site.get(&format!("{CHATS}/{longest}/threads")).await.expect(200)["data"], json!([]));
    for path in [
        format!("/v1/agencies/{longer}"),
        format!("/v1/agencies/{longer}/chats"),
        format!("/v1/kinds/{longer}"),
        format!("/v1/jobs/{longer}/inconsistencies"),
        format!("/v1/agents/{longer}"),
        format!("{CHATS}/{longer}/threads"),
        format!("/v1/agencies/{longer}/chats/first/threads"),
    ] {
        let problem = site.get(&path).await.problem(400, "invalid-path");
        assert!(problem.detail.contains("256 characters; at most 255 are taken"), "{}", problem.detail);
    }
}

/// A message that is sent while an earlier question is open is read once that is answered. Its sender gets
/// the open question at once, instead of waiting without notice.
#[tokio::test]
async fn a_message_sent_while_a_question_is_open_gets_that_question() {
    let site = desk().await;
    let say = async |text: &str| site.post(RESPONSES, &json!({"message": text, "chat_id": "first"})).await;
    let asked = say("tell ask").await.expect(202);
    let beside = say("hello").await.expect(202);
    assert_eq!(beside["questions"], asked["questions"]);
    let question = asked["questions"][0]["id"].as_str().expect("an id").to_owned();
    site.post(&format!("/v1/questions/{question}/answer"), &json!({"answer": "blue"})).await.expect(200);
    assert_eq!(say("and now?").await.expect(200)["final_output"], "You said: and now?");
}
