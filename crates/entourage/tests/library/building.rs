//! Tests of what builders refuse, and that the error says what to change.

use std::sync::Arc;

use entourage::{
    Error,
    agency::{Agency, Agent, Guardrail, function_tool},
    schemars::{self, JsonSchema},
};
use entourage_llm::{Script, ScriptedModel};
use serde::Deserialize;

use crate::agent;

fn refusal_of<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Agency(why)) => why,
        other => panic!("it is refused: {other:?}"),
    }
}

#[test]
fn an_agent_builder_refuses_invalid_names_peers_and_settings() {
    assert!(refusal_of(crate::builder("").build()).contains("is no name"));
    assert!(refusal_of(crate::builder("two words").build()).contains("is no name"));
    assert!(refusal_of(crate::builder("user").build()).contains("choose another name"));
    assert!(refusal_of(crate::builder("A").can_message(["A"]).build()).contains("cannot write to itself"));
    assert!(refusal_of(crate::builder("A").temperature(2.5).build()).contains("between 0 and 2"));
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    let tool = || function_tool("t", "Does nothing.", |_, Nothing {}| async {});
    assert!(
        refusal_of(crate::builder("A").tool(tool()).tool(tool()).build())
            .contains("two tools of the name `t`")
    );
}

#[tokio::test]
async fn an_agency_with_an_invalid_chart_does_not_open() {
    let (a, b) = (agent("A"), agent("B"));
    let other_a = agent("A");
    let lost = crate::builder("Lost").can_message(["Nobody"]).build().unwrap();
    let open = |builder: entourage::agency::AgencyBuilder| async {
        let model = Arc::new(ScriptedModel::new([]));
        refusal_of(builder.in_memory().model(model).open().await)
    };
    assert!(open(Agency::new([], [])).await.contains("no entry point"));
    assert!(open(Agency::new([&a, &a], [])).await.contains("`A` is listed twice"));
    assert!(open(Agency::new([&a], [(&a, &other_a)])).await.contains("two agents of the name `A`"));
    assert!(open(Agency::new([&a], [(&a, &a)])).await.contains("cannot write to itself"));
    assert!(open(Agency::new([&a], [(&a, &b), (&a, &b)])).await.contains("listed twice"));
    assert!(open(Agency::new([&lost], [])).await.contains("`Nobody`"));
    let refuses = |name: &str| Guardrail::new(name, |_| async { Err("no") });
    let one = crate::builder("One").input_guardrail(refuses("g")).build().unwrap();
    let two = crate::builder("Two").input_guardrail(refuses("g")).build().unwrap();
    assert!(open(Agency::new([&one], [(&one, &two)])).await.contains("two guardrails of the name `g`"));
    let kept_nowhere = Agency::new([&a], []).model(Arc::new(ScriptedModel::new([]))).open().await;
    assert!(refusal_of(kept_nowhere).contains(".in_memory()"));
}

/// Shows: S2-R009, S2-R010.
#[tokio::test]
async fn an_agent_outside_an_open_agency_is_refused_without_a_model_call() {
    let model = Arc::new(ScriptedModel::new([]));
    let a = crate::builder("A").model(Arc::clone(&model)).build().unwrap();
    let refused = a.get_response("hi").await;
    assert!(matches!(&refused, Err(Error::NoThreads { agent }) if agent == "A"), "{refused:?}");
    assert!(a.get_response_stream("hi").await.is_err());
    let agency = Agency::new([&a], []).in_memory().model(Arc::clone(&model)).open().await.unwrap();
    agency.close().await;
    assert!(matches!(a.get_response("hi").await, Err(Error::NoThreads { .. })), "its agency is closed");
    assert_eq!(model.requests().len(), 0);
}

/// The names of an agent's tools are valid for providers, and no two of its tools share one.
#[test]
fn a_tool_name_must_be_valid_for_providers_and_unique() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    let tool = |name: &str| function_tool(name, "Does nothing.", |_, Nothing {}| async {});
    for name in ["", "two words", "a/b", "ümlaut", &"x".repeat(65)] {
        let refused = refusal_of(crate::builder("A").tool(tool(name)).build());
        assert!(refused.starts_with(&format!("A: `{name}` is no name for a tool")), "{refused}");
    }
    for name in ["web_search", "send_message", "read_output"] {
        let refused = refusal_of(crate::builder("A").built_in(["web_search"]).tool(tool(name)).build());
        assert!(refused.contains("is the name of a built-in tool"), "{refused}");
    }
    assert!(crate::builder("A").tool(tool("web_search")).build().is_ok());
}

/// Opening an agency refuses an unknown model and an unknown built-in tool.
#[tokio::test]
async fn opening_an_agency_refuses_an_unknown_model_or_built_in_tool() {
    let open = |agent: Agent, model: Option<&'static str>| async move {
        let builder = Agency::new([&agent], []).in_memory();
        let builder = match model {
            Some(name) => builder.model(name),
            None => builder.model(Arc::new(ScriptedModel::new([]))),
        };
        builder.open().await
    };
    let of = |model: &str| crate::builder("A").model(model).build().unwrap();
    let refused = refusal_of(open(of("gpt"), Some("rehearsal")).await);
    assert!(refused.starts_with("A: ") && refused.contains("`gpt` names no provider"), "{refused}");
    let refused = refusal_of(open(of("nobody::gpt"), Some("rehearsal")).await);
    assert!(refused.contains("unknown provider `nobody`"), "{refused}");
    assert!(open(of("ollama::small"), Some("rehearsal")).await.is_ok());
    assert!(open(of("gpt"), None).await.is_ok(), "a model of one's own knows its names");
    let digging = crate::builder("A").built_in(["dig"]).build().unwrap();
    let refused = refusal_of(open(digging, None).await);
    assert!(refused.starts_with("A: there is no built-in tool `dig` here; there are: ask_user"), "{refused}");
}

/// An agent belongs to one open agency at a time: a second one is refused, and the first continues.
#[tokio::test]
async fn an_agent_belongs_to_one_open_agency() {
    let a = agent("A");
    let open = || async {
        let model = Arc::new(ScriptedModel::deciding(|_| Some(Ok(Script::text("here")))));
        Agency::new([&a], []).in_memory().model(model).open().await
    };
    let first = open().await.unwrap();
    let refused = refusal_of(open().await);
    assert!(refused.starts_with("`A` belongs to another open agency; close that one first"), "{refused}");
    assert_eq!(a.get_response("hi").chat_id("c").text_only().await.unwrap(), "here");
    assert_eq!(first.threads().threads("c").await.unwrap().len(), 1, "it was said in the first");
    let held = first.threads();
    first.close().await;
    let second = open().await.unwrap();
    assert_eq!(a.get_response("hi").chat_id("d").text_only().await.unwrap(), "here");
    assert_eq!(second.threads().threads("d").await.unwrap().len(), 1);
    assert!(held.threads("c").await.is_err(), "the first is closed");
}
