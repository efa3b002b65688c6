//! The engine against a third-party fake provider, on each wire: streamed text, parallel tool
//! calls, usage.

use std::collections::BTreeMap;

use crate::one_kind;
use async_trait::async_trait;
use entourage_engine::{NewAgent, Piece, Signal};
use entourage_llm::{Connection, Provider, Router, Settings};
use entourage_store::Page;
use entourage_testkit::{World, plain};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool, Toolbox};
use entourage_types::{EventBody, Status, ToolSpec};
use serde_json::{Value, json};

struct Weather;

#[async_trait]
impl Tool for Weather {
    fn name(&self) -> &'static str {
        "get_weather"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new(
            "get_weather",
            "The weather of a city.",
            json!({
                "type": "object",
                "properties": { "city": { "type": "string" } },
                "required": ["city"],
                "additionalProperties": false
            }),
        ))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome, Error> {
        Ok(Outcome::text(format!("sunny in {}", arguments["city"])))
    }
}

/// A world that uses the fake on one wire. The fake selects its answer by the instructions.
async fn world(provider: Provider, base: &str, instructions: &str) -> World {
    let connection = Connection {
        base_url: Some(base.to_owned()),
        key: Some(String::from("not-a-key").into()),
        ..Connection::default()
    };
    let settings = Settings { providers: BTreeMap::from([(provider, connection)]), ..Settings::default() };
    let router = Router::new(settings, format!("{}::fake-model", provider.name())).unwrap();
    World::builder(router)
        .tools(Toolbox::new().with(Weather))
        .kinds(one_kind(|kind| kind.instructions = instructions.into()))
        .start()
        .await
}

async fn assert_wire_works(provider: Provider, path: &str, counts: bool) {
    let base = format!("{}{path}", super::named("AIMOCK_URL"));
    let greeting = world(provider, &base, "Greet.").await;
    let client = greeting.client();
    let agent = client.create(NewAgent::default(), None).await.unwrap();
    let mut watch = greeting.engine().client(agent.owner.clone()).watch(agent.id, 0).await.unwrap();
    client.send(agent.id, "hello", None).await.unwrap();
    let mut streamed = String::new();
    let mut pieces = 0;
    loop {
        match watch.next().await.unwrap() {
            Signal::Delta(delta) => {
                if let Piece::Text(text) = &delta.piece {
                    assert_eq!(delta.offset, streamed.chars().count() as u64);
                    streamed.push_str(text);
                    pieces += 1;
                }
            }
            Signal::Event(event) => match &event.body {
                EventBody::AgentStatus { status, .. } if status.is_terminal() => break,
                _ => {}
            },
            Signal::Inbox | Signal::CaughtUp(_) => {}
        }
    }
    let seen = client.transcript(agent.id).await.unwrap();
    assert_eq!(seen.last().unwrap().text, streamed, "the pieces are the text");
    assert!(streamed.starts_with("Hello!") && pieces > 1, "{pieces} pieces: {streamed}");

    let world = world(provider, &base, "Report the weather.").await;
    let client = world.client();
    let agent = world.ask("What is the weather in Paris and Rome?").await;
    assert_eq!(world.ended(agent.id).await.status, Status::Succeeded);
    let items = client.items(agent.id, 0, 10).await.unwrap();
    let lines: Vec<String> =
        plain(&items).into_iter().filter(|line| !line.starts_with("context: ")).collect();
    assert_eq!(lines[1], r#"turn: [get_weather{"city":"Paris"} get_weather{"city":"Rome"}]"#);
    assert_eq!(lines[2..4], [r#"output: sunny in "Paris""#, r#"output: sunny in "Rome""#]);
    assert!(lines[4].contains("24 degrees"), "{}", lines[4]);
    let runs = client.runs(agent.id, Page::default()).await.unwrap();
    assert_eq!(runs[0].model_calls, 2);
    if counts {
        assert_eq!((runs[0].usage.input, runs[0].usage.output), (260, 60));
    }
}

#[tokio::test]
async fn the_openai_chat_wire_carries_streams_parallel_calls_and_usage() {
    assert_wire_works(Provider::OpenAi, "/v1", true).await;
}

#[tokio::test]
async fn the_openai_responses_wire_carries_streams_parallel_calls_and_usage() {
    assert_wire_works(Provider::OpenAiResp, "/v1", true).await;
}

#[tokio::test]
async fn the_anthropic_wire_carries_streams_parallel_calls_and_usage() {
    assert_wire_works(Provider::Anthropic, "", true).await;
}

#[tokio::test]
async fn the_ollama_wire_carries_streams_and_parallel_calls() {
    // This fake reports no usage on this wire.
    assert_wire_works(Provider::Ollama, "", false).await;
}

#[tokio::test]
async fn the_compatible_wire_carries_streams_parallel_calls_and_usage() {
    assert_wire_works(Provider::Compatible, "/v1", true).await;
}
