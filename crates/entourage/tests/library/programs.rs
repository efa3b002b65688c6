//! Tests that an application brings programs of its own.

#[path = "../../../../examples/planner/plan.rs"]
mod plan;

use std::sync::Arc;

use entourage::agency::{Agency, Agent};
use entourage_engine::Kinds;
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::MemoryStore;
use entourage_testkit::{PersonAction, Story, World};
use entourage_tools::{Settings, builtin};
use entourage_types::{Answer, Kind, ProgramName};

use crate::{scripted, within};

fn answer(request: &Request) -> Script {
    let read = request.messages.iter().map(|message| match message {
        Message::User(text) | Message::Notice(text) => text.as_str(),
        _ => "",
    });
    let read: String = read.collect();
    let wants = |field: &str| {
        request.output_schema.as_ref().is_some_and(|schema| schema["properties"].get(field).is_some())
    };
    Script::text(match () {
        () if wants("question") => r#"{"question": "How large is the house?"}"#.to_owned(),
        () if wants("parts") && read.contains("large") => {
            r#"{"parts": ["gas", "wood", "sun", "peat", "coal"]}"#.to_owned()
        }
        () if request.system.contains("You work") => format!("{read} is fine."),
        () => format!(
            "{} parts of four are done.",
            ["gas", "wood", "sun", "peat"]
                .iter()
                .filter(|part| read.contains(&format!("{part} is fine.")))
                .count()
        ),
    })
}

#[tokio::test]
async fn the_planner_of_the_examples_asks_splits_joins_and_sums_up() {
    let planner = Agent::builder("Planner").instructions("Sum up.").program(plan::Planner).build().unwrap();
    let worker = Agent::builder(plan::WORKER).instructions("You work.").build().unwrap();
    let agency = Agency::new([&planner], [(&planner, &worker)]).in_memory().model(scripted(answer));
    let agency = agency.open().await.unwrap();
    let mut stream = agency.get_response_stream("Compare ways to heat a house.").await.unwrap();
    let done = within("an answer", async {
        loop {
            match stream.next().await.unwrap().unwrap() {
                entourage::agency::StreamEvent::Question(question) => {
                    assert_eq!(question.text, "How large is the house?");
                    agency.client().answer(question.id, Answer::Text("80 m2".into())).await.unwrap();
                }
                entourage::agency::StreamEvent::Done(result) => return result,
                entourage::agency::StreamEvent::Error(failed) => panic!("{failed:?}"),
                _ => {}
            }
        }
    })
    .await;
    assert_eq!(done.final_output.as_deref(), Some("4 parts of four are done."));
}

#[test]
fn the_planner_of_the_examples_takes_less_than_60_lines() {
    let lines = include_str!("../../../../examples/planner/plan.rs").lines().count();
    assert!(lines < 60, "{lines}");
}

/// A crash at every commit: the same transcripts, and every part is done once.
#[tokio::test(flavor = "multi_thread")]
async fn the_planner_of_the_examples_survives_a_crash_at_every_commit() {
    let story = Story::new(["Compare ways to heat a house."], |_| {
        let planner = Kind {
            program: ProgramName::new("planner"),
            peers: vec![plan::WORKER.into()],
            tools: Some(Vec::new()),
            instructions: "Sum up.".into(),
            ..Kind::bare("assistant")
        };
        let worker =
            Kind { tools: Some(Vec::new()), instructions: "You work.".into(), ..Kind::bare(plan::WORKER) };
        World::builder(ScriptedModel::deciding(|request| Some(Ok(answer(request)))))
            .tools(builtin(Settings::default()))
            .kinds(Kinds::none().with(planner).with(worker))
            .store(MemoryStore::default())
            .engine(|engine| engine.program("planner", Arc::new(plan::Planner)))
    });
    let story = story.agents_in_any_order().person(|_| PersonAction::Answer(Answer::Text("80 m2".into())));
    let points = story.survives([1], 1).await;
    assert!(points >= 100, "{points}");
}
