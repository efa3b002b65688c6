//! Parts written outside the workspace work, and their results can be shown and stored.

use std::sync::{Arc, atomic::Ordering};

use entourage::{
    MemoryStore, Model,
    agency::{Agency, Agent, RunItem, StreamEvent},
    async_trait,
    models::{self, Deltas, Message, Reply, Request},
    serde_json::{self, Value, json},
    types::{CallId, StopReason, ToolCall, Usage},
};

/// A custom model, two tools, a store layer and a guardrail work together.
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
        assert_eq!(kept["nested"], json!([]));
        let event = serde_json::to_value(StreamEvent::Done(result)).expect("it is plain data");
        assert_eq!((&event["event"], &event["data"]["final_output"]), (&"done".into(), &"3 words".into()));

        let refused = agency.get_response("word ".repeat(100)).await?;
        assert_eq!(refused.error.map(|error| error.code), Some(StopReason::InputRejected));
        agency.close().await;
        Ok::<_, entourage::Error>(())
    };
    entourage::runtime().expect("there are threads").block_on(work).expect("it works");
}

/// Delegates to the counter, and answers with its result.
struct Lead;

#[async_trait]
impl Model for Lead {
    async fn call(&self, request: Request, _: &mut dyn Deltas) -> models::Result<Reply> {
        let (text, calls) = match request.messages.last() {
            Some(Message::Output { text, .. }) => (text.clone(), Vec::new()),
            _ => {
                let arguments = json!({ "recipient": "Counter", "message": "one two" });
                let call = ToolCall { id: CallId::new(), tool: "send_message".into(), arguments };
                (String::new(), vec![call])
            }
        };
        Ok(Reply { text, calls, model: self.describe(), usage: Usage::default(), cost: None })
    }

    fn describe(&self) -> String {
        "lead".into()
    }
}

/// The run of a delegated message is kept with the caller's, under the names of its fields.
#[test]
fn what_an_agent_below_did_can_be_kept_too() {
    let work = async {
        let (lead, counter) = (
            Agent::builder("Lead").instructions("Lead.").model(Arc::new(Lead)).build()?,
            outside::counter()?,
        );
        let agency =
            Agency::new([&lead], [(&lead, &counter)]).model(Arc::new(Lead)).in_memory().open().await?;
        let result = agency.get_response("Count.").await?;
        let kept = serde_json::to_value(&result).expect("it is plain data");
        let Some([nested]) = kept["nested"].as_array().map(Vec::as_slice) else { panic!("{kept}") };
        let mut fields: Vec<&str> = nested.as_object().expect("fields").keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, ["error", "final_output", "generated_items", "origin", "usage"]);
        assert_eq!((&nested["final_output"], &nested["error"]), (&json!("2 words"), &Value::Null));
        assert_eq!(nested["usage"]["calls"], 3);
        let origin = &nested["origin"];
        assert_eq!([&origin["agent"], &origin["caller"]], ["Counter", "Lead"]);
        assert_eq!((&origin["depth"], &origin["parent_run"]), (&json!(1), &kept["run_id"]));
        let items = nested["generated_items"].as_array().expect("a list");
        assert!(items.iter().any(|item| item["type"] == "tool_call_output"), "{items:?}");
        agency.close().await;
        Ok::<_, entourage::Error>(())
    };
    entourage::runtime().expect("there are threads").block_on(work).expect("it works");
}
