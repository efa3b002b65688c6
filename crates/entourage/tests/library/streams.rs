//! Tests of the stream of what happens on the way to an answer.

use std::sync::Arc;

use entourage::{
    agency::{Agency, RunItem, RunStream, StreamEvent},
    types::{Status, StopReason},
};
use entourage_llm::{Script, ScriptedModel};
use entourage_testkit::HeldModel;
use futures::StreamExt;

use crate::{agent, chain, hands_on, lines, scripted, to};

async fn all_events(stream: RunStream) -> Vec<StreamEvent> {
    stream.map(|event| event.expect("the engine is there")).collect().await
}

fn items(events: &[StreamEvent]) -> Vec<RunItem> {
    let item = |event: &StreamEvent| match event {
        StreamEvent::Item(item) => Some(item.clone()),
        _ => None,
    };
    events.iter().filter_map(item).collect()
}

/// Shows: S2-R007, S2-R013, S2-R077, S2-R078, S2-R079, S2-R080, S2-R081.
#[tokio::test]
async fn a_stream_puts_items_of_sub_agents_between_call_and_output() {
    let (builder, _) = chain();
    let agency = builder.model(scripted(hands_on)).in_memory().open().await.unwrap();
    let events = all_events(agency.get_response_stream("Go.").chat_id("c").await.unwrap()).await;
    let told = items(&events);
    assert_eq!(
        lines(&told),
        [
            "Ceo is told Go.",
            "Ceo calls send_message Go.",
            "Developer is told Go.",
            "Developer calls send_message Go.",
            "Reviewer is told Go.",
            "Reviewer says <Go.>",
            "Developer gets <Go.>",
            "Developer says <<Go.>>",
            "Ceo gets <<Go.>>",
            "Ceo says <<<Go.>>>"
        ]
    );
    let (ceo, developer, reviewer) =
        (("Ceo", "user", 0), ("Developer", "Ceo", 1), ("Reviewer", "Developer", 2));
    let from = told.iter().map(|item| item.origin());
    assert_eq!(
        from.map(|origin| (&*origin.agent, &*origin.caller, origin.depth)).collect::<Vec<_>>(),
        [ceo, ceo, developer, developer, reviewer, reviewer, developer, developer, ceo, ceo]
    );
    let Some(StreamEvent::Done(result)) = events.last() else {
        panic!("it ends with the result: {events:?}")
    };
    assert_eq!(result.final_output.as_deref(), Some("<<<Go.>>>"));
    let pieces: String = events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::Text { origin, text } if origin.agent == "Reviewer" => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(pieces, "<Go.>");

    // The same message without a stream leaves the same threads.
    agency.get_response("Go.").chat_id("d").await.unwrap();
    for (to, from) in [("Ceo", None), ("Developer", Some("Ceo")), ("Reviewer", Some("Developer"))] {
        let mut logs = Vec::new();
        for chat in ["c", "d"] {
            let thread = agency.threads().get_thread(chat, to, from).await.unwrap().unwrap();
            logs.push(lines(&thread.get_full_log().await.unwrap()));
        }
        assert_eq!(logs[0], logs[1], "{to}");
    }
}

/// Shows: S2-R080, S2-R081.
#[tokio::test]
async fn a_stream_names_the_agent_of_each_item_of_agents_called_in_one_turn() {
    let model = scripted(|request| match (request.messages.len(), request.system.contains("You are A.")) {
        (1, true) => Script::call("send_message", to("B", "b")).and_call("send_message", to("C", "c")),
        _ => Script::text("done"),
    });
    let (a, b, c) = (agent("A"), agent("B"), agent("C"));
    let agency = Agency::new([&a], [(&a, &b), (&a, &c)]).model(model).in_memory().open().await.unwrap();
    let told = lines(&items(&all_events(agency.get_response_stream("Go.").await.unwrap()).await));
    let at =
        |line: &str| told.iter().position(|told| told == line).unwrap_or_else(|| panic!("{line}: {told:?}"));
    let outputs = told.iter().position(|line| line == "A gets done").unwrap();
    for (name, text) in [("B", "b"), ("C", "c")] {
        let (heard, said) = (at(&format!("{name} is told {text}")), at(&format!("{name} says done")));
        assert!(2 < heard && heard < said && said < outputs, "{told:?}");
    }
    assert_eq!(told.len(), 1 + 2 + 4 + 2 + 1);
}

/// Shows: S2-R082.
#[tokio::test]
async fn a_failed_run_ends_its_stream_with_an_error_event() {
    let a = agent("A");
    let model = Arc::new(ScriptedModel::new([]));
    let agency = Agency::new([&a], []).model(model).in_memory().open().await.unwrap();
    let events = all_events(a.get_response_stream("Go.").await.unwrap()).await;
    let Some(StreamEvent::Error(result)) = events.last() else { panic!("{events:?}") };
    assert_eq!(result.error.as_ref().map(|error| error.code), Some(StopReason::ModelFailed));
    assert_eq!(lines(&items(&events)), ["A is told Go.", "A notice run_ended model_failed"]);
    let mut stream = std::pin::pin!(a.get_response_stream("Go on.").await.unwrap());
    while let Some(event) = stream.next().await {
        if matches!(event.unwrap(), StreamEvent::Error(_)) {
            break;
        }
    }
    assert!(stream.next().await.is_none(), "the end follows the error, and nothing else");
    drop(agency);
}

#[tokio::test]
async fn dropping_a_stream_stops_its_run_unless_it_is_detached() {
    let model = Arc::new(HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(hands_on(request))))));
    let (builder, _) = chain();
    let agency = builder.model(Arc::clone(&model)).in_memory().open().await.unwrap();
    let stream = agency.get_response_stream("one").chat_id("c").await.unwrap();
    model.begun().await;
    model.let_go(1);
    model.begun().await;
    drop(stream);
    let stopped = agency.resume_response("c").await.unwrap();
    assert_eq!(stopped.error.map(|error| error.code), Some(StopReason::Cancelled));
    assert_eq!(model.cut_off(), 1, "the developer was in the middle of a model call");

    let stream = agency.get_response_stream("two").chat_id("c").detached().await.unwrap();
    model.begun().await;
    drop(stream);
    model.let_go(10);
    let done = agency.resume_response("c").await.unwrap();
    assert_eq!(done.final_output.as_deref(), Some("<<<two>>>"));
    let tree = agency.client().tree(agency.client().chat("c").await.unwrap()).await.unwrap();
    assert!(
        tree.iter().all(|agent| agent.status == Status::Succeeded),
        "the threads are as they were: {tree:?}"
    );
}
