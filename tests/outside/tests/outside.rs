//! Parts written outside the workspace work, and their results can be shown and stored.

use std::sync::{Arc, atomic::Ordering};

use entourage::{
    Engine, Kinds, MemoryStore, Model, NewAgent, Owner,
    agency::{Agency, Agent, RunItem, StreamEvent},
    async_trait,
    engine::Versioned,
    explore::{AgentState, Explorer},
    models::{self, Deltas, Message, Reply, Request},
    serde_json::{self, Value, json},
    tools::Toolbox,
    types::{CallId, Event, EventBody, Kind, Record as _, StopReason, ToolCall, Usage},
};
use outside::habits::{Document, Habit, SetHabit, add_document, documents, open_habits};

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
        let mut said = history.iter().filter(|message| !matches!(message, Message::Context(_)));
        assert_eq!(said.next(), Some(&Message::User("one two three".into())));

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

/// Sets the habit that it is told, and ends.
struct Eager;

#[async_trait]
impl Model for Eager {
    async fn call(&self, request: Request, _: &mut dyn Deltas) -> models::Result<Reply> {
        let (text, calls) = match request.messages.last() {
            Some(Message::User(text)) => {
                let (tool, arguments) = ("set_habit".into(), json!({ "text": text }));
                (String::new(), vec![ToolCall { id: CallId::new(), tool, arguments }])
            }
            Some(Message::Output { text, .. }) => (text.clone(), Vec::new()),
            _ => ("?".into(), Vec::new()),
        };
        Ok(Reply { text, calls, model: self.describe(), usage: Usage::default(), cost: None })
    }

    fn describe(&self) -> String {
        "eager".into()
    }
}

/// A noun of the application is written by its tool with the output, found by its words and its status, and
/// reported by an event; a record of the engine's nouns is not.
#[test]
fn a_noun_of_an_application_has_a_tool_events_a_list_and_a_search() {
    let work = async {
        let store = Arc::new(MemoryStore::default());
        let kinds = Kinds::none().with(Kind::bare("eager"));
        let tools = Toolbox::new().with(SetHabit);
        let engine = Engine::builder(store, Arc::new(Eager)).kinds(kinds).tools(tools).build();
        let client = engine.client(Owner::local());
        let kind = || Some("eager".to_owned());
        let new =
            |text: &str| NewAgent { kind: kind(), message: Some(text.into()), title: None, parent: None };
        let agent = client.create(new("learn to sail"), None).await?;
        engine.advance(agent.id).await?;
        client.send(agent.id, "learn to sail", None).await?;
        engine.advance(agent.id).await?;
        client.send(agent.id, "cross the sea", None).await?;
        engine.advance(agent.id).await?;

        let texts = |habits: Vec<Habit>| habits.into_iter().map(|habit| habit.text).collect::<Vec<_>>();
        assert_eq!(texts(open_habits(&client, None).await?), ["learn to sail", "cross the sea"]);
        assert_eq!(texts(open_habits(&client, Some("sea")).await?), ["cross the sea"]);
        assert!(open_habits(&engine.client(Owner::new("eve")), None).await?.is_empty());

        let habit = open_habits(&client, Some("sail")).await?.remove(0);
        for (number, name) in (1..).zip(["Knots", "Winds"]) {
            let document = add_document(&client, &habit, name, &"text ".repeat(100)).await?;
            assert_eq!(document.number, number);
        }
        assert!(add_document(&client, &habit, " KNOTS", "").await.is_err(), "the name is taken");
        let listed = documents(&client, &habit).await?;
        let names = listed.iter().map(|document| (document.name.as_str(), document.content.is_some()));
        assert_eq!(names.collect::<Vec<_>>(), [("Knots", false), ("Winds", false)]);
        let winds = client.record::<Document>(listed[1].columns().id).await?;
        assert_eq!(winds.content, Some("text ".repeat(100)));
        let Versioned { record: habit, version } = client.versioned::<Habit>(habit.id).await?;
        let reached = Habit { reached: true, ..habit.clone() };
        client.save(&reached, version).await?;
        assert!(client.save(&reached, version).await.is_err(), "it was written since");
        let eve = engine.client(Owner::new("eve"));
        let in_her_name = Habit { id: "hers".into(), owner: Owner::new("eve"), ..habit.clone() };
        assert!(eve.save(&in_her_name, 0).await.is_err(), "the tree is another owner's");
        assert_eq!(texts(open_habits(&client, None).await?), ["cross the sea"]);
        assert!(client.record::<Habit>(&habit.id).await?.reached);
        let events = client.events(agent.id, 0, 100).await?;
        let told = |event: &Event| match &event.body {
            EventBody::Record { kind, status, record, .. } => {
                Some(format!("{kind} {status} {}", record["text"]))
            }
            _ => None,
        };
        assert_eq!(
            events.iter().filter_map(told).collect::<Vec<_>>(),
            [
                "habit open \"learn to sail\"",
                "habit open \"cross the sea\"",
                "habit reached \"learn to sail\""
            ]
        );
        Ok::<_, entourage::engine::Error>(())
    };
    entourage::runtime().expect("there are threads").block_on(work).expect("it works");
}

/// Decides nothing but the result of an exploration: it answers each decision with the least that its schema takes.
struct Terse;

#[async_trait]
impl Model for Terse {
    async fn call(&self, request: Request, _: &mut dyn Deltas) -> models::Result<Reply> {
        let is =
            |field: &str| request.output_schema.as_ref().is_some_and(|s| s["properties"][field].is_object());
        let text = if is("ambiguous") {
            json!({ "ambiguous": true, "question": "Which one?" }).to_string()
        } else if is("missing") {
            json!({ "missing": false, "question": "" }).to_string()
        } else if is("subquestions") {
            json!({ "subquestions": [] }).to_string()
        } else if is("summary") {
            json!({ "summary": "It is settled.", "needs_more_info": false, "question": "" }).to_string()
        } else {
            "found".to_owned()
        };
        Ok(Reply { text, calls: Vec::new(), model: self.describe(), usage: Usage::default(), cost: None })
    }

    fn describe(&self) -> String {
        "terse".into()
    }
}

/// An exploration asks its program, streams chunks that can be shown, and returns a string.
#[test]
fn an_exploration_of_ones_own_asks_its_program_and_returns_a_string() {
    let work = async {
        let explorer = Explorer::builder().model(Arc::new(Terse)).in_memory().open().await?;
        explorer.set_query_user_handler(|agent_id, prompt| async move {
            (agent_id == "sky" && prompt == "Which one?").then(|| "the blue one".to_owned())
        });
        let mut stream = explorer.agent("Why is it blue?").agent_id("sky").await?;
        let mut shown = Vec::new();
        while let Some(chunk) = stream.next().await {
            shown.push(serde_json::to_value(chunk?).expect("it is plain data"));
        }
        assert_eq!(shown.first().map(|chunk| &chunk["state"]), Some(&json!("running")));
        assert!(shown.iter().any(|chunk| chunk["response"] == "the blue one"), "{shown:?}");
        assert_eq!(stream.result().await?, "It is settled.");
        let agent = explorer.get_agent("sky").await?.expect("it stays readable");
        assert_eq!((agent.agent.state, explorer.get_agent_tree().await?.len()), (AgentState::Completed, 0));
        explorer.close().await;
        Ok::<_, entourage::Error>(())
    };
    entourage::runtime().expect("there are threads").block_on(work).expect("it works");
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
