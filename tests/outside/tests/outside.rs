//! Parts written outside the workspace work, and their results can be shown and kept.

use std::sync::{Arc, atomic::Ordering};

use entourage::{
    MemoryStore,
    agency::{RunItem, StreamEvent},
    models::Message,
    serde_json,
    types::StopReason,
};

/// A model, two tools, a store layer and a guardrail of one's own work together.
#[test]
fn parts_of_ones_own_work_together() {
    let work = async {
        let (agency, commits) = outside::open(Arc::new(MemoryStore::default())).await?;
        let mut stream = agency.get_response_stream("one two three").await?;
        assert!(format!("{stream:?}").starts_with("RunStream"));
        let (mut outputs, mut last) = (Vec::new(), None);
        while let Some(event) = stream.next().await {
            match event? {
                StreamEvent::Item(RunItem::ToolCallOutput(item)) => outputs.push(item.output),
                StreamEvent::Done(result) => last = Some(result),
                _ => {}
            }
        }
        assert_eq!(outputs, ["ONE TWO THREE", "3"]);
        let result = last.expect("there is an answer");
        assert_eq!(result.final_output.as_deref(), Some("3 words"));
        assert!(commits.0.load(Ordering::Relaxed) > 0);

        let thread = agency.threads().get_thread(&result.chat_id, "Counter", None).await?;
        let thread = thread.expect("something was said in it");
        assert!(format!("{thread:?}").starts_with("ConversationThread"));
        let history: Vec<Message> = thread.get_history_for_model().await?;
        assert_eq!(history[0], Message::User("one two three".into()));

        let kept = serde_json::to_value(&result).expect("it is plain data");
        assert_eq!(kept["final_output"], "3 words");
        assert_eq!(kept["generated_items"][0]["code"], "input_accepted");
        assert_eq!(kept["generated_items"][1]["type"], "tool_call");
        assert_eq!(kept["generated_items"][1]["origin"]["agent"], "Counter");
        assert_eq!(kept["nested"], serde_json::json!([]));
        let event = serde_json::to_value(StreamEvent::Done(result)).expect("it is plain data");
        assert_eq!((&event["event"], &event["data"]["final_output"]), (&"done".into(), &"3 words".into()));

        let refused = agency.get_response("word ".repeat(100)).await?;
        assert_eq!(refused.error.map(|error| error.code), Some(StopReason::InputRejected));
        agency.close().await;
        Ok::<_, entourage::Error>(())
    };
    entourage::runtime().expect("there are threads").block_on(work).expect("it works");
}
