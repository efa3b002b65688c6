//! What cannot be put together is refused when it is put together, and says what to change.

use std::sync::Arc;

use entourage::{
    Error,
    agency::{Agency, Agent, Guardrail, function_tool},
    schemars::{self, JsonSchema},
};
use entourage_llm::ScriptedModel;
use serde::Deserialize;

use crate::agent;

fn why<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Agency(why)) => why,
        other => panic!("it is refused: {other:?}"),
    }
}

#[test]
fn an_agent_needs_a_name_and_writes_to_others() {
    assert!(why(Agent::builder("").build()).contains("is no name"));
    assert!(why(Agent::builder("two words").build()).contains("is no name"));
    assert!(why(Agent::builder("user").build()).contains("choose another name"));
    assert!(why(Agent::builder("A").can_message(["A"]).build()).contains("cannot write to itself"));
    assert!(why(Agent::builder("A").temperature(2.5).build()).contains("between 0 and 2"));
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    let tool = || function_tool("t", "Does nothing.", |_, Nothing {}| async {});
    assert!(why(Agent::builder("A").tool(tool()).tool(tool()).build()).contains("two tools of the name `t`"));
}

#[tokio::test]
async fn a_chart_with_mistakes_is_not_opened() {
    let (a, b) = (agent("A"), agent("B"));
    let other_a = agent("A");
    let lost = Agent::builder("Lost").can_message(["Nobody"]).build().unwrap();
    let open = |builder: entourage::agency::AgencyBuilder| async {
        let model = Arc::new(ScriptedModel::new([]));
        why(builder.in_memory().model(model).open().await)
    };
    assert!(open(Agency::new([], [])).await.contains("no entry point"));
    assert!(open(Agency::new([&a, &a], [])).await.contains("`A` is listed twice"));
    assert!(open(Agency::new([&a], [(&a, &other_a)])).await.contains("two agents of the name `A`"));
    assert!(open(Agency::new([&a], [(&a, &a)])).await.contains("cannot write to itself"));
    assert!(open(Agency::new([&a], [(&a, &b), (&a, &b)])).await.contains("listed twice"));
    assert!(open(Agency::new([&lost], [])).await.contains("`Nobody`"));
    let refuses = |name: &str| Guardrail::new(name, |_| async { Err("no") });
    let one = Agent::builder("One").input_guardrail(refuses("g")).build().unwrap();
    let two = Agent::builder("Two").input_guardrail(refuses("g")).build().unwrap();
    assert!(open(Agency::new([&one], [(&one, &two)])).await.contains("two guardrails of the name `g`"));
    let kept_nowhere = Agency::new([&a], []).model(Arc::new(ScriptedModel::new([]))).open().await;
    assert!(why(kept_nowhere).contains(".in_memory()"));
}

#[tokio::test]
async fn an_agent_without_threads_says_so_and_asks_no_model() {
    let model = Arc::new(ScriptedModel::new([]));
    let a = Agent::builder("A").model(Arc::clone(&model)).build().unwrap();
    let refused = a.get_response("hi").await;
    assert!(matches!(&refused, Err(Error::NoThreads { agent }) if agent == "A"), "{refused:?}");
    assert!(a.get_response_stream("hi").await.is_err());
    let agency = Agency::new([&a], []).in_memory().model(Arc::clone(&model)).open().await.unwrap();
    agency.close().await;
    assert!(matches!(a.get_response("hi").await, Err(Error::NoThreads { .. })), "its agency is closed");
    assert_eq!(model.requests().len(), 0);
}
