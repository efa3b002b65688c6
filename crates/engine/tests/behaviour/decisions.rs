//! A decision is one durable step of a program: an answer that fits its schema, or the reason why there is none.

use std::time::Duration;

use crate::kit::{WithProgram, WorldExt, first_tools, programmed};
use entourage_engine::{Conversation, DecisionRequest, DecisionView, Interrupt, Run};
use entourage_llm::{Error, Message, Request, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{Faults, Story, World, WorldBuilder, plain};
use entourage_types::{Agent, DecisionOutcome, ItemBody, Limits, Status, StopReason, WaitingOn};
use futures::{FutureExt, future::BoxFuture};
use serde_json::{Value, json};

fn ask() -> DecisionRequest {
    let schema = json!({
        "type": "object", "properties": { "yes": { "type": "boolean" } }, "required": ["yes"],
    });
    DecisionRequest::new("Is it clear?", schema)
}

/// A world whose program makes one decision and answers with it, or with why it failed.
fn deciding(model: &ScriptedModel, request: fn() -> DecisionRequest) -> WorldBuilder {
    World::builder(model.clone()).tools(first_tools()).kinds(programmed(|_| {})).program(&[], move |run| {
        async move {
            run.receive().await?;
            Ok(match run.decide("clear", request()).await? {
                Ok(value) => run.say(format!("decided {value}")),
                Err(failed) => run.say(format!("went on: {failed}")),
            })
        }
        .boxed()
    })
}

async fn lines(world: &World, agent: &Agent) -> Vec<String> {
    plain(&world.client().items(agent.id, 0, 100).await.unwrap())
}

#[tokio::test]
async fn a_decision_is_an_item_with_the_answer_and_what_it_used() {
    let model =
        ScriptedModel::new([Script::text("Sure:\n```json\n{\"yes\": true, \"mood\": [\"fine\"]}\n```")]);
    let world = deciding(&model, ask).start().await;
    let root = world.ask("Paint it.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let items = world.client().items(root.id, 0, 10).await.unwrap();
    let value = json!({ "yes": true, "mood": ["fine"] });
    let ItemBody::Decision(decision) = &items[1].body else { panic!("{:?}", items[1]) };
    assert_eq!(
        (decision.name.as_str(), &decision.outcome),
        ("clear", &DecisionOutcome::Value(value.clone()))
    );
    assert_eq!(decision.used.as_ref().map(|used| used.usage.input), Some(10));
    assert_eq!(items[1].step.as_ref().map(ToString::to_string).as_deref(), Some("decision/clear"));
    assert_eq!(lines(&world, &root).await[2], format!("turn: decided {value}[]"));
    let run = &world.client().runs(root.id, Page::default()).await.unwrap()[0];
    assert_eq!((run.model_calls, run.usage.input, run.usage.output), (1, 10, 5));
}

/// Weak models add fields of their own: those that the schema forbids are left out. A field that is missing is asked
/// for again, and the model reads which.
#[tokio::test]
async fn a_field_that_the_schema_forbids_is_left_out_and_one_that_is_missing_is_asked_for_again() {
    let model = ScriptedModel::new([
        Script::text(r#"{"mood": "fine"}"#),
        Script::text(r#"{"yes": true, "mood": "fine"}"#),
    ]);
    let closed = || {
        let mut request = ask();
        request.schema["additionalProperties"] = json!(false);
        request
    };
    let world = deciding(&model, closed).start().await;
    let root = world.ask("Paint it.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let requests = model.requests();
    assert_eq!((requests.len(), requests[0].open_schema), (2, false));
    let Some(Message::Notice(read)) = requests[1].messages.last() else { panic!("{requests:?}") };
    assert!(read.contains("yes"), "{read}");
    assert_eq!(lines(&world, &root).await.last().unwrap(), r#"turn: decided {"yes":true}[]"#);
}

#[tokio::test]
async fn the_model_reads_instructions_conversation_and_schema() {
    let model = ScriptedModel::new([Script::text(r#"{"yes": true}"#)]);
    let world = deciding(&model, || DecisionRequest { temperature: Some(0.1), ..ask() }).start().await;
    let root = world.ask("Paint <b>it</b>.").await;
    world.ended(root.id).await;
    let Request { system, messages, tools, output_schema, open_schema, temperature, .. } =
        model.requests().remove(0);
    assert!(system.starts_with("Is it clear?\n\n") && system.contains(r#""required":["yes"]"#), "{system}");
    let [Message::User(read)] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!(read, "<conversation>\nUser: Paint &lt;b&gt;it&lt;/b&gt;.\n</conversation>");
    assert_eq!((tools.len(), temperature), (0, Some(0.1)));
    assert_eq!((output_schema.map(|schema| (*schema).clone()), open_schema), (Some(ask().schema), true));
}

#[tokio::test]
async fn a_decision_may_read_the_latest_messages_and_a_text_instead() {
    let model = ScriptedModel::new([Script::text(r#"{"yes": true}"#), Script::text(r#"{"yes": false}"#)]);
    let request = || {
        let view = DecisionView { conversation: Conversation::Latest(2), text: "Project: garden".into() };
        DecisionRequest { view, ..ask() }
    };
    let world = deciding(&model, request).start().await;
    let root = world.ask("One.").await;
    world.ended(root.id).await;
    world.client().send(root.id, "Two.", None).await.unwrap();
    world.ended(root.id).await;
    let messages = &model.requests()[1].messages;
    let said = Message::Assistant { text: r#"decided {"yes":true}"#.into(), calls: Vec::new() };
    assert_eq!(*messages, [said, Message::User("Two.".into()), Message::User("Project: garden".into())]);
}

#[tokio::test]
async fn a_second_answer_is_asked_for_with_the_mistakes_of_the_first() {
    let model = ScriptedModel::new([Script::text(r#"{"yes": "perhaps"}"#), Script::text(r#"{"yes": true}"#)]);
    let world = deciding(&model, ask).start().await;
    let root = world.ask("Paint it.").await;
    world.ended(root.id).await;
    let lines = lines(&world, &root).await;
    assert!(lines[1].starts_with("decision: refused: ") && lines[1].contains("/yes"), "{}", lines[1]);
    assert_eq!(lines[2], r#"decision: {"yes":true}"#);
    let [.., Message::Assistant { text, .. }, Message::Notice(why)] = &model.requests()[1].messages[..]
    else {
        panic!("{:?}", model.requests()[1])
    };
    assert_eq!(text, r#"{"yes": "perhaps"}"#);
    assert!(why.contains("/yes") && why.contains("boolean"), "{why}");
    let run = &world.client().runs(root.id, Page::default()).await.unwrap()[0];
    assert_eq!((run.model_calls, run.usage.input), (2, 20), "both answers are paid for");
}

#[tokio::test]
async fn a_decision_fails_after_its_attempts_and_the_program_goes_on() {
    for (attempts, answers) in [(1, 1), (2, 2), (3, 3)] {
        let model = ScriptedModel::new((0..answers).map(|_| Script::text("I cannot say.")));
        let world = World::builder(model.clone()).kinds(programmed(|_| {})).program(&[], move |run| {
            async move {
                run.receive().await?;
                let failed = run.decide("clear", DecisionRequest { attempts, ..ask() }).await?.unwrap_err();
                Ok(run.say(failed.to_string()))
            }
            .boxed()
        });
        let world = world.start().await;
        let root = world.ask("Paint it.").await;
        assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
        assert_eq!(model.requests().len(), answers);
        let lines = lines(&world, &root).await;
        assert_eq!(lines[answers], "decision: no decision: the answer is not valid: it has no JSON object");
        assert!(lines[answers + 1].contains("the decision `clear` failed"), "{lines:?}");
    }
}

#[tokio::test]
async fn a_program_that_needs_the_decision_fails_with_its_reason() {
    let model = ScriptedModel::new([]);
    model.push(Err(Error::Refused { model: "m".into(), cause: "no such model".into() }));
    let world = World::builder(model).kinds(programmed(|_| {})).program(&[], |run| {
        async move {
            run.receive().await?;
            Ok(run.decide("clear", ask()).await??.to_string())
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Paint it.").await;
    let ended = world.ended(root.id).await;
    assert_eq!((ended.status, ended.stop_reason), (Status::Failed, Some(StopReason::ModelFailed)));
    let lines = lines(&world, &root).await;
    // What the provider said is for logs and programs.
    assert!(!lines.concat().contains("no such model"), "{lines:?}");
    let error = world.client().runs(root.id, Page::default()).await.unwrap()[0].error.clone().unwrap();
    assert!(error.contains("the decision `clear` failed: ") && error.contains("no such model"), "{error}");
    assert!(
        lines[2].starts_with("notice run_ended model_failed: the decision `clear` failed: "),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_decision_sleeps_on_disk_until_the_model_can_answer() {
    let model = ScriptedModel::new([]);
    model.push(Err(Error::RateLimited { model: "m".into(), retry_after: Some(Duration::from_secs(600)) }));
    model.push(Ok(Script::text(r#"{"yes": true}"#)));
    let world = deciding(&model, ask).start().await;
    let root = world.ask("Paint it.").await;
    world.asleep(&root).await;
    let sleeping = world.client().agent(root.id).await.unwrap();
    assert_eq!(sleeping.waiting_on, Some(WaitingOn::Retry));
    let world = world.restart(Faults::default()).await;
    world.clock().advance(Duration::from_secs(601));
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let run = &world.client().runs(root.id, Page::default()).await.unwrap()[0];
    let steps = world.client().steps(run.id).await.unwrap();
    assert_eq!((steps[0].key.to_string().as_str(), steps[0].attempt), ("decision/clear", 2));
}

#[tokio::test]
async fn decisions_do_not_count_towards_the_limit_of_model_calls() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(Script::text(if request.output_schema.is_some() { r#"{"yes": true}"# } else { "Painted." })))
    });
    let limits = Limits { max_steps: 1, ..Limits::default() };
    let kinds = programmed(|kind| kind.limits = limits);
    let world = World::builder(model.clone()).kinds(kinds).program(&[], |run| {
        async move {
            run.receive().await?;
            for number in 1..=5 {
                run.decide(&format!("clear/{number}"), ask()).await??;
            }
            entourage_engine::programs::converse(run).await
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Paint it.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(model.requests().len(), 6);
}

#[tokio::test]
async fn a_decision_beyond_the_runs_budget_fails_without_a_request() {
    let model = ScriptedModel::new([Script::text(r#"{"yes": true}"#)]);
    let limits = Limits { max_tokens: 14, ..Limits::default() };
    let world =
        World::builder(model.clone()).kinds(programmed(|kind| kind.limits = limits)).program(&[], |run| {
            async move {
                run.receive().await?;
                run.decide("one", ask()).await??;
                let second = run.decide("two", ask()).await?;
                Ok(run.say(second.unwrap_err().why))
            }
            .boxed()
        });
    let world = world.start().await;
    let root = world.ask("Paint it.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let lines = lines(&world, &root).await;
    assert!(lines[3].contains("15 tokens were used; the limit is 14"), "{lines:?}");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_name_serves_one_step_of_a_run() {
    let model = ScriptedModel::new([Script::text(r#"{"yes": true}"#), Script::text(r#"{"yes": true}"#)]);
    let world = World::builder(model).kinds(programmed(|_| {})).program(&[], |run| {
        async move {
            run.receive().await?;
            run.decide("clear", ask()).await??;
            Ok(run.decide("clear", ask()).await??.to_string())
        }
        .boxed()
    });
    let world = world.start().await;
    let root = world.ask("Paint it.").await;
    assert_eq!(world.ended(root.id).await.stop_reason, Some(StopReason::Error));
    let lines = lines(&world, &root).await;
    assert!(lines.last().unwrap().contains("took the step decision/clear twice"), "{lines:?}");
}

/// Decides twice, the second time after a first answer that does not fit, and lets the model answer.
fn twice<'r>(run: &'r mut Run<'_>) -> BoxFuture<'r, Result<String, Interrupt>> {
    async move {
        run.receive().await?;
        let first = run.decide("first", ask()).await??;
        let second = run.decide("second", ask()).await??;
        run.progress("decided", format!("decided {first} and {second}")).await?;
        entourage_engine::programs::converse(run).await
    }
    .boxed()
}

/// A crash at any commit repeats at most the model call that was not on record yet; the outcome is the same.
///
/// Shows: INV-01.
#[tokio::test(flavor = "multi_thread")]
async fn decisions_survive_a_crash_at_every_commit() {
    let answer = |request: &Request| {
        let refused = request.messages.iter().any(|message| matches!(message, Message::Notice(_)));
        let text = match &request.output_schema {
            None => "Painted.",
            Some(_) if refused => r#"{"yes": false}"#,
            Some(_) if request.messages.iter().any(is_decided) => r#"{"yes": "perhaps"}"#,
            Some(_) => r#"{"yes": true}"#,
        };
        Some(Ok(Script::text(text)))
    };
    let story = Story::new(["Paint it."], move |_| {
        let world = World::builder(ScriptedModel::deciding(answer)).store(MemoryStore::default());
        world.kinds(programmed(|_| {})).program(&[], twice)
    });
    let points = story.survives([1], 1).await;
    assert!(points >= 4, "{points}");
}

fn is_decided(message: &Message) -> bool {
    matches!(message, Message::User(text) if text.contains("Decision first"))
}

/// The value that a test reads back.
#[tokio::test]
async fn a_decision_is_not_asked_for_again_once_it_is_on_record() {
    let model = ScriptedModel::new([Script::text(r#"{"yes": true}"#)]);
    let world = World::builder(model.clone()).tools(first_tools()).kinds(programmed(|_| {})).program(
        &["ask_user"],
        |run| {
            async move {
                run.receive().await?;
                let value: Value = run.decide("clear", ask()).await??;
                let answer = run.ask_user("which", "Which colour?", &[]).await?;
                Ok(run.say(format!("{value}, {answer:?}")))
            }
            .boxed()
        },
    );
    let world = world.start().await;
    let root = world.ask("Paint it.").await;
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    let world = world.restart(Faults::default()).await;
    world.client().answer(question.id, entourage_types::Answer::Text("red".into())).await.unwrap();
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    assert_eq!(model.requests().len(), 1);
    let lines = lines(&world, &root).await;
    assert_eq!(lines.last().unwrap(), r#"turn: {"yes":true}, Answered("red")[]"#);
}
