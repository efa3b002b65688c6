//! The prefix that a provider keeps, as bytes: over every wire, a request begins with all messages of the one before, and
//! what is beside them stays as it was.

use std::{collections::BTreeMap, time::Duration};

use entourage_engine::NewAgent;
use entourage_llm::{Message, Provider, Script, ScriptedModel};
use entourage_testkit::World;
use entourage_types::{Item, ItemBody, Owner};
use serde_json::{Value, json, value::RawValue};

use crate::{
    kit::{first_tools, one_kind},
    prefix::{TURNS, added, all_sections, learned, paragraph, question, write_note},
    requests::Tapped,
};

/// What a provider received: the bytes of its messages, and those of each field beside them.
#[derive(Debug)]
struct Received {
    messages: String,
    beside: BTreeMap<String, String>,
}

impl Received {
    fn new(provider: Provider, body: &str) -> Self {
        let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(body).unwrap();
        let mut beside: BTreeMap<String, String> =
            fields.into_iter().map(|(name, value)| (name, value.get().to_owned())).collect();
        let name = if provider == Provider::OpenAiResp { "input" } else { "messages" };
        let messages = beside.remove(name).expect("it has messages");
        let messages = if provider == Provider::Anthropic { without_marker(&messages) } else { messages };
        Self { messages, beside }
    }
}

/// The messages without the marker up to which Anthropic caches: it stands on the last message, so it moves, and is no
/// part of what is cached. A marked text has to be written as a list of one block, for which a text alone is the short
/// form.
fn without_marker(messages: &str) -> String {
    let last: Vec<&RawValue> = serde_json::from_str(messages).unwrap();
    let last = last.last().expect("there is a message").get();
    let before = messages.strip_suffix(&format!("{last}]")).unwrap();
    assert!(!before.contains("cache_control"), "only the last message is marked: {before}");
    let unmarked =
        last.strip_suffix(r#","cache_control":{"type":"ephemeral"}}]}"#).expect("the last block is marked");
    match unmarked.strip_prefix(r#"{"role":"user","content":[{"type":"text","text":"#) {
        Some(text) => format!(r#"{before}{{"role":"user","content":{text}}}]"#),
        None => format!("{before}{unmarked}}}]}}]"),
    }
}

/// A call, an output and a text, whatever the wire. Ollama has no ids.
fn call(id: &Value, tool: &Value, arguments: &Value) -> Value {
    let arguments = match arguments {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        object => object.clone(),
    };
    json!({"call": id, "tool": tool, "arguments": arguments})
}

fn output(call: &Value, text: &Value) -> Value {
    json!({"output of": call, "text": text})
}

fn said(role: &str, text: &Value) -> Value {
    json!({ role: text })
}

/// What one message of a wire says.
fn parts(message: &Value) -> Vec<Value> {
    match message["type"].as_str() {
        Some("function_call") => {
            return vec![call(&message["call_id"], &message["name"], &message["arguments"])];
        }
        Some("function_call_output") => return vec![output(&message["call_id"], &message["output"])],
        _ => {}
    }
    let role = message["role"].as_str().expect("it has a role");
    let mut parts = match &message["content"] {
        Value::Array(blocks) => blocks.iter().map(|block| part(role, block)).collect(),
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        text if role == "tool" => vec![output(&message["tool_call_id"], text)],
        text => vec![said(role, text)],
    };
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    parts.extend(
        calls.map(|made| call(&made["id"], &made["function"]["name"], &made["function"]["arguments"])),
    );
    parts
}

fn part(role: &str, block: &Value) -> Value {
    match block["type"].as_str() {
        Some("tool_use") => call(&block["id"], &block["name"], &block["input"]),
        Some("tool_result") => output(&block["tool_use_id"], &block["content"]),
        _ => said(role, &block["text"]),
    }
}

/// What items add to the messages of any wire: what the model reads before a text of the user is part of that text.
fn appended(provider: Provider, items: &[Item]) -> Vec<Value> {
    let id = |id: String| if provider == Provider::Ollama { Value::Null } else { id.into() };
    let (mut parts, mut context) = (Vec::new(), None::<String>);
    for message in added(items) {
        let before = context.take();
        match message {
            Message::Context(text) => context = Some(text),
            Message::User(text) => {
                let text = before.into_iter().chain([text]).collect::<Vec<_>>().join("\n\n");
                parts.push(said("user", &text.into()));
                continue;
            }
            Message::Assistant { text, calls } => {
                parts.extend((!text.is_empty()).then(|| said("assistant", &text.into())));
                let calls = calls.into_iter();
                parts.extend(
                    calls.map(|made| call(&id(made.id.to_string()), &made.tool.into(), &made.arguments)),
                );
            }
            Message::Output { call, text, .. } => parts.push(output(&id(call), &text.into())),
            other @ Message::Notice(_) => panic!("{other:?}"),
        }
        assert_eq!(before, None, "a context comes before a text of the user, or last");
    }
    parts.extend(context.map(|text| said("user", &text.into())));
    parts
}

/// Writes notes, learns something, thinks better of it and drops it.
fn remembering() -> ScriptedModel {
    ScriptedModel::deciding(|request| {
        let (learned, calls) = (learned(request), Script::text("I keep \"that\" \u{1f600}."));
        let question = question(request);
        let note = json!({"title": format!("of {question}"), "content": "<b> & co \u{e9}"});
        Some(Ok(match question {
            "question 2" => calls
                .and_call("save_learning", json!({"text": "They like tea."}))
                .and_call("create_note", note),
            "question 5" | "question 11" | "question 17" => Script::call("create_note", note),
            "question 8" => {
                calls.and_call("update_learning", json!({"id": learned, "text": "They like coffee."}))
            }
            "question 14" => calls.and_call("retire_learning", json!({ "id": learned })),
            _ => Script::text(paragraph("It is \"as it was\".\n")),
        }))
    })
}

/// Asserts that a provider received each time all that it received before, and what was appended since. Returns what the
/// messages say.
fn assert_only_the_end_grows(provider: Provider, received: &[Received], items: &[Item]) -> Vec<Value> {
    let is_turn = |at: &usize| matches!(items[*at].body, ItemBody::Turn(_));
    let turns: Vec<usize> = (0..items.len()).filter(is_turn).collect();
    assert_eq!(received.len(), turns.len());
    let (mut sent, mut before, mut all) = (0, "[", Vec::new());
    for (request, turn) in received.iter().zip(turns) {
        let Received { messages, beside } = request;
        assert_eq!(beside, &received[0].beside, "{provider}: what is beside the messages never changes");
        let Some(new) = messages.strip_prefix(before) else {
            panic!("{provider}: the past changed, from\n{before}\nto\n{messages}")
        };
        let new: Vec<Value> = serde_json::from_str(&format!("[{}", new.trim_start_matches(','))).unwrap();
        let mut new: Vec<Value> = new.iter().flat_map(parts).collect();
        if sent == 0 {
            new.retain(|part| part.get("system").is_none());
        }
        assert_eq!(new, appended(provider, &items[sent..turn]), "{provider}: up to item {turn}");
        before = messages.strip_suffix(']').expect("it is a list");
        (sent, all) = (turn, [all, new].concat());
    }
    all
}

/// Asserts that at most 5 % of all bytes that a provider received are what the model reads beside the conversation.
fn assert_little_is_beside(provider: Provider, bodies: &[Vec<String>], at: usize, items: &[Item]) {
    let context = |message: &Message| match message {
        // As it stands in the body.
        Message::Context(text) => Value::from(text.as_str()).to_string().len(),
        _ => 0,
    };
    let turns = (0..items.len()).filter(|at| matches!(items[*at].body, ItemBody::Turn(_)));
    let beside: usize = turns.map(|turn| added(&items[..turn]).iter().map(context).sum::<usize>()).sum();
    let all: usize = bodies.iter().map(|bodies| bodies[at].len()).sum();
    assert!(
        beside > 0 && beside * 20 <= all,
        "{provider}: {beside} of {all} bytes are beside the conversation"
    );
}

/// Twenty turns over real HTTP: notes of its own and of another agent, a learning that changes and is dropped, and a clock
/// that goes on.
#[tokio::test]
async fn over_twenty_turns_every_provider_receives_the_bytes_of_the_messages_before_and_what_was_appended() {
    let model = Tapped::new(remembering()).await;
    let bodies = model.bodies();
    let builder = World::builder(model).tools(first_tools()).kinds(one_kind(all_sections));
    let world = builder.dispatchers([]).start().await;
    let person = world.engine().client(Owner::local());
    let root = person.create(NewAgent::default(), None).await.unwrap();
    for n in 0..TURNS {
        if n % 4 == 3 {
            write_note(&world, &root, &format!("another's {n}")).await;
        }
        let text = paragraph(&format!("question {n}: how \"is\" it, \u{e9} or \u{1f600}?\n"));
        person.send(root.id, &text, None).await.unwrap();
        world.engine().advance(root.id).await.unwrap();
        world.clock().advance(Duration::from_secs(90));
    }
    let bodies = bodies.lock().unwrap().clone();
    // One for each question, and one after each turn with calls.
    assert_eq!(bodies.len(), TURNS + 6);
    let items = world.client().items(root.id, 0, 1_000).await.unwrap();
    for (at, provider) in Provider::ALL.into_iter().enumerate() {
        let received: Vec<Received> =
            bodies.iter().map(|bodies| Received::new(provider, &bodies[at])).collect();
        let said = assert_only_the_end_grows(provider, &received, &items);
        assert_little_is_beside(provider, &bodies, at, &items);
        let read: String = said.iter().filter_map(|part| part["user"].as_str()).collect();
        let told = |text: &str| read.matches(text).count();
        // The learning is its own, so that only what became of it is told.
        let learned = ["They like tea.", "They like coffee.</learning>", "status=\"retired\""];
        assert_eq!(
            (learned.map(told), told("another's "), told("<time_context>")),
            ([0, 1, 1], 5, 3),
            "{read}"
        );
        let Received { messages, beside } = &received[0];
        assert!(beside["tools"].contains("update_learning"), "{provider}: {beside:?}");
        let has_system = |text: &String| text.contains("Do as asked.");
        assert!(has_system(messages) || beside.values().any(has_system), "{provider}: {beside:?}");
    }
}
