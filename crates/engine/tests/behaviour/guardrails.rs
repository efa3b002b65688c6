//! Guardrails on what an agent reads and answers.

use std::sync::{Arc, Mutex};

use crate::kit::{Effects, TestTool, WorldBuilderExt, WorldExt, one_kind};
use async_trait::async_trait;
use entourage_engine::{ChatMessage, Guardrail, GuardrailInput, Kinds, NewAgent, Role, Side};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Fault, Faults, HeldModel, World, WorldBuilder, plain};
use entourage_tools::{Effect, Outcome, Toolbox};
use entourage_types::{Agent, Guardrails, ProgramName, Reply, Run, RunOptions, Status, StopReason};
use serde_json::json;

/// A guardrail that passes texts with `please`, and remembers the texts it got.
#[derive(Clone, Default)]
struct Polite(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Guardrail for Polite {
    async fn check(&self, checked: &GuardrailInput) -> Result<(), String> {
        self.0.lock().unwrap().push(checked.text.clone());
        match (checked.text.contains("please"), checked.side) {
            (true, _) => Ok(()),
            (false, Side::Input) => Err("say please".into()),
            (false, Side::Output) => Err("it must say please".into()),
        }
    }
}

impl Polite {
    fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A guardrail that crashes.
struct Broken;

#[async_trait]
impl Guardrail for Broken {
    async fn check(&self, _: &GuardrailInput) -> Result<(), String> {
        panic!("out of order")
    }
}

fn kinds(guardrails: Guardrails) -> Kinds {
    one_kind(|kind| kind.guardrails = guardrails)
}

fn polite() -> Vec<String> {
    vec!["polite".to_owned()]
}

async fn run_to_the_end(builder: WorldBuilder, text: &str) -> (World, Agent, Run, Vec<String>) {
    let world = builder.start().await;
    let root = world.ask(text).await;
    let root = world.ended(root.id).await;
    let (run, lines) = outcome(&world, &root).await;
    (world, root, run, lines)
}

async fn outcome(world: &World, root: &Agent) -> (Run, Vec<String>) {
    let run = world.client().runs(root.id, Page::default()).await.unwrap().pop().unwrap();
    let items = world.client().items(root.id, 0, 100).await.unwrap();
    assert_eq!(world.audit().await, []);
    (run, plain(&items))
}

#[tokio::test]
async fn a_refused_message_ends_the_run_without_a_model_call() {
    let (model, check) = (ScriptedModel::new([]), Polite::default());
    let kinds = kinds(Guardrails { input: polite(), ..Guardrails::default() });
    let builder = World::builder(model.clone()).kinds(kinds).guardrail("polite", Arc::new(check.clone()));
    let (_, _, run, lines) = run_to_the_end(builder, "Do it.").await;
    assert_eq!((run.status, run.stop_reason), (Status::Failed, Some(StopReason::InputRejected)));
    assert_eq!(run.error.as_deref(), Some("`polite` rejected the message: say please"));
    assert_eq!(lines[1], "notice run_ended input_rejected: `polite` rejected the message: say please");
    assert_eq!(model.requests().len(), 0);
}

#[tokio::test]
async fn an_accepted_message_is_recorded_and_checked_once() {
    let model = ScriptedModel::new([Script::text("One."), Script::text("Two.")]);
    let check = Polite::default();
    let kinds = kinds(Guardrails { input: polite(), ..Guardrails::default() });
    let builder = World::builder(model).kinds(kinds).guardrail("polite", Arc::new(check.clone()));
    let (world, root, run, lines) = run_to_the_end(builder, "One, please.").await;
    assert_eq!(run.status, Status::Succeeded);
    assert_eq!(lines[1..], ["notice input_accepted: polite accepted the input", "turn: One.[]"]);
    let world = world.restart(Faults::default()).await;
    world.client().send(root.id, "Two, please.", None).await.unwrap();
    world
        .until(root.id, |event| matches!(&event.body, entourage_types::EventBody::Item { item_seq: 5, .. }))
        .await;
    assert_eq!(check.asked(), ["One, please.", "Two, please."]);
}

#[tokio::test]
async fn a_parallel_guardrail_ends_the_run_without_waiting_for_the_model() {
    let model = HeldModel::new(ScriptedModel::new([Script::text("Here.")]));
    let check = Polite::default();
    let kinds = kinds(Guardrails { parallel: polite(), ..Guardrails::default() });
    let builder = World::builder(model.clone()).kinds(kinds).guardrail("polite", Arc::new(check));
    let (world, root, run, lines) = run_to_the_end(builder, "Do it.").await;
    assert_eq!(run.stop_reason, Some(StopReason::InputRejected));
    assert_eq!(
        lines,
        ["message: Do it.", "notice run_ended input_rejected: `polite` rejected the message: say please"]
    );
    let shown = world.client().transcript(root.id).await.unwrap();
    assert_eq!(shown.last().map(|entry| entry.role), Some(Role::Notice));

    let model = ScriptedModel::new([Script::text("Here.")]);
    let kinds = self::kinds(Guardrails { parallel: polite(), ..Guardrails::default() });
    let builder = World::builder(model).kinds(kinds).guardrail("polite", Arc::new(Polite::default()));
    let (_, _, run, lines) = run_to_the_end(builder, "Do it, please.").await;
    assert_eq!((run.status, lines.len()), (Status::Succeeded, 2), "{lines:?}");
}

/// A model that writes `please` once it reads why it was refused.
fn writes_please_once_refused(request: &Request) -> Option<entourage_llm::Result<Script>> {
    Some(Ok(Script::text(corrected_text(request))))
}

fn corrected_text(request: &Request) -> &'static str {
    let Some(Message::User(text) | Message::Notice(text) | Message::Output { text, .. }) =
        request.messages.last()
    else {
        return "Here.";
    };
    if text.contains("it must say please") { "Here you are, please." } else { "Here." }
}

/// Shows: S2-R064, S2-R065.
#[tokio::test]
async fn a_refused_answer_goes_back_to_the_model_once_with_the_reason() {
    let check = Polite::default();
    let kinds = kinds(Guardrails { output: polite(), ..Guardrails::default() });
    let builder = World::builder(ScriptedModel::deciding(writes_please_once_refused))
        .kinds(kinds)
        .guardrail("polite", Arc::new(check.clone()));
    let (world, root, run, lines) = run_to_the_end(builder, "Do it.").await;
    assert_eq!((run.status, run.model_calls), (Status::Succeeded, 2));
    assert_eq!(
        lines[1..],
        [
            "turn: Here.[]",
            "notice output_rejected: `polite` rejected the answer: it must say please. Fix this and answer \
             again.",
            "turn: Here you are, please.[]"
        ]
    );
    assert_eq!(check.asked(), ["Here.", "Here you are, please."]);
    let shown: Vec<String> =
        world.client().transcript(root.id).await.unwrap().into_iter().map(|entry| entry.text).collect();
    assert_eq!(shown, ["Do it.", "Here you are, please."], "nobody sees what was refused");
}

#[tokio::test]
async fn an_output_guardrail_checks_the_answer_of_a_final_answer_call() {
    let answer = |text: &str| Script::call("final_answer", json!({ "answer": text }));
    let model = ScriptedModel::new([answer("Here.").and_call("wait", json!({})), answer("Here, please.")]);
    let check = Polite::default();
    let kinds = one_kind(|kind| {
        kind.guardrails = Guardrails { output: polite(), ..Guardrails::default() };
        kind.tools = Some(vec!["final_answer".into(), "wait".into()]);
    });
    let builder = World::builder(model)
        .tools(crate::kit::first_tools())
        .kinds(kinds)
        .guardrail("polite", Arc::new(check.clone()));
    let (world, root, run, _) = run_to_the_end(builder, "Do it.").await;
    assert_eq!((run.status, run.model_calls), (Status::Succeeded, 2));
    assert_eq!(check.asked(), ["Here.", "Here, please."]);
    let shown: Vec<String> =
        world.client().transcript(root.id).await.unwrap().into_iter().map(|entry| entry.text).collect();
    assert_eq!(shown, ["Do it.", "Here, please."], "nobody sees what was refused");
}

/// A kind whose answer is an object with a number.
fn counting(attempts: u32) -> Kinds {
    one_kind(|kind| {
        kind.guardrails = Guardrails { attempts, ..Guardrails::default() };
        kind.tools = Some(vec!["final_answer".into(), "send_message".into()]);
        kind.output_schema =
            Some(json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}));
    })
}

/// As text or by a call, the last answer must match the kind's schema, or the run fails.
#[tokio::test]
async fn an_answer_that_violates_the_output_schema_is_retried_then_fails_the_run() {
    let call = |text: &str| Script::call("final_answer", json!({ "answer": text }));
    for (wrong, right) in [
        (Script::text("not json"), Script::text("{\"n\": 1}")),
        (Script::text("{\"n\": \"one\"}"), call("{\"n\": 1}")),
        (call("{}"), Script::text("{\"n\": 1}")),
    ] {
        let builder = World::builder(ScriptedModel::new([wrong.clone(), right]))
            .tools(crate::kit::first_tools())
            .kinds(counting(1));
        let (_, _, run, lines) = run_to_the_end(builder, "Count.").await;
        assert_eq!((run.status, run.model_calls), (Status::Succeeded, 2), "{lines:?}");
        assert!(lines[2].contains("`output_schema` rejected "), "{lines:?}");

        let builder =
            World::builder(ScriptedModel::new([wrong])).tools(crate::kit::first_tools()).kinds(counting(0));
        let (_, _, run, _) = run_to_the_end(builder, "Count.").await;
        assert_eq!((run.status, run.stop_reason), (Status::Failed, Some(StopReason::ValidationFailed)));
        let error = run.error.unwrap();
        assert!(
            error.starts_with("`output_schema` rejected the answer, which was the last attempt"),
            "{error}"
        );
    }
}

/// A schema whose references expand to millions of parts is refused, and not followed.
#[tokio::test]
async fn an_output_schema_that_expands_too_far_fails_the_run() {
    let both = |n: usize| json!({ "$ref": format!("#/$defs/{n}") });
    let mut defs = serde_json::Map::new();
    (0..30).for_each(|n| drop(defs.insert(n.to_string(), json!({ "anyOf": [both(n + 1), both(n + 1)] }))));
    defs.insert("30".into(), json!({ "type": "number" }));
    let kinds = one_kind(|kind| kind.output_schema = Some(json!({ "$ref": "#/$defs/0", "$defs": defs })));
    let builder = World::builder(ScriptedModel::new([Script::text("1")])).kinds(kinds);
    let (_, _, run, _) = run_to_the_end(builder, "Count.").await;
    assert_eq!(run.status, Status::Failed);
    let error = run.error.unwrap();
    assert!(error.contains("larger than 10000 parts"), "{error}");
}

/// An agent that ends with a message to the user.
fn kind_that_sends_messages(program: ProgramName, attempts: u32) -> Kinds {
    one_kind(|kind| {
        kind.guardrails = Guardrails { output: polite(), attempts, ..Guardrails::default() };
        (kind.program, kind.conversational, kind.reply) = (program, true, Reply::SendMessage);
        kind.tools = Some(vec!["send_message".into()]);
    })
}

fn send_to_user(text: &str) -> Script {
    Script::call("send_message", json!({ "message": text }))
}

#[tokio::test]
async fn an_output_guardrail_checks_a_sent_message_before_the_user_sees_it() {
    for program in [ProgramName::default(), ProgramName::new(ProgramName::ORCHESTRATE)] {
        let check = Polite::default();
        let builder =
            World::builder(ScriptedModel::new([send_to_user("Here."), send_to_user("Here, please.")]))
                .tools(crate::kit::first_tools())
                .kinds(kind_that_sends_messages(program, 1))
                .guardrail("polite", Arc::new(check.clone()));
        let (world, root, run, lines) = run_to_the_end(builder, "Do it.").await;
        assert_eq!((run.status, run.model_calls), (Status::Succeeded, 2), "{lines:?}");
        assert_eq!(check.asked(), ["Here.", "Here, please."]);
        let why = "`polite` rejected this, so it was not sent: it must say please.";
        assert!(lines[2].contains(why), "{lines:?}");
        let shown: Vec<String> =
            world.client().transcript(root.id).await.unwrap().into_iter().map(|entry| entry.text).collect();
        assert_eq!(shown, ["Do it.", "Here, please."], "nobody sees what was refused");
    }
}

#[tokio::test]
async fn a_guardrail_that_rejects_every_sent_message_ends_the_run() {
    for attempts in [0, 1, 3] {
        let model = ScriptedModel::deciding(|_| Some(Ok(send_to_user("No."))));
        let builder = World::builder(model.clone())
            .tools(crate::kit::first_tools())
            .kinds(kind_that_sends_messages(ProgramName::default(), attempts))
            .guardrail("polite", Arc::new(Polite::default()));
        let (world, root, run, lines) = run_to_the_end(builder, "Do it.").await;
        assert_eq!((run.status, run.stop_reason), (Status::Failed, Some(StopReason::ValidationFailed)));
        assert_eq!(model.requests().len(), 1 + attempts as usize);
        assert!(lines.last().unwrap().ends_with("it must say please"), "{lines:?}");
        let shown = world.client().transcript(root.id).await.unwrap();
        assert!(shown.iter().all(|entry| entry.text != "No."), "{shown:?}");
    }
}

/// Shows: S2-R065.
#[tokio::test]
async fn a_guardrail_that_rejects_every_answer_ends_the_run_with_its_reason() {
    assert_eq!(Guardrails::default().attempts, 1, "one more try, unless the kind says otherwise");
    for attempts in [0, 1, 3] {
        let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("No."))));
        let kinds = kinds(Guardrails { output: polite(), attempts, ..Guardrails::default() });
        let builder =
            World::builder(model.clone()).kinds(kinds).guardrail("polite", Arc::new(Polite::default()));
        let (_, _, run, lines) = run_to_the_end(builder, "Do it.").await;
        assert_eq!((run.status, run.stop_reason), (Status::Failed, Some(StopReason::ValidationFailed)));
        assert_eq!(model.requests().len(), 1 + attempts as usize);
        assert!(lines.last().unwrap().ends_with("it must say please"), "{lines:?}");
    }
}

/// Guardrails with this name at each place where one may be.
fn at_each_place(name: &str) -> [Guardrails; 3] {
    let name = || vec![name.to_owned()];
    [
        Guardrails { input: name(), ..Guardrails::default() },
        Guardrails { parallel: name(), ..Guardrails::default() },
        Guardrails { output: name(), ..Guardrails::default() },
    ]
}

#[tokio::test]
async fn a_guardrail_that_crashes_lets_no_text_pass() {
    for guardrails in at_each_place("broken") {
        let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("Yes."))));
        let builder = World::builder(model).kinds(kinds(guardrails)).guardrail("broken", Arc::new(Broken));
        let (world, root, run, _) = run_to_the_end(builder, "Do it.").await;
        assert_eq!(run.stop_reason, Some(StopReason::Error));
        let says = "guardrail `broken` crashed";
        assert_eq!(run.error.as_deref(), Some(says));
        let shown: Vec<String> =
            world.client().transcript(root.id).await.unwrap().into_iter().map(|entry| entry.text).collect();
        assert_eq!(shown, ["Do it.", says], "nobody is told what no check let pass");
    }
}

#[tokio::test]
async fn an_unknown_guardrail_is_refused_by_name_before_the_model_is_asked() {
    let why = "there is no guardrail `absent` in this program";
    for guardrails in at_each_place("absent") {
        let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("Yes."))));
        let world = World::builder(model.clone()).kinds(kinds(guardrails)).start().await;
        let refused = world
            .client()
            .create(NewAgent { message: Some("Do it.".into()), ..NewAgent::default() }, None)
            .await
            .unwrap_err();
        let todo = "Add it to the program, or take it out of `guardrails`";
        assert_eq!(refused.to_string(), format!("kind `assistant`: {why}. {todo}"));
        assert_eq!(model.requests().len(), 0);
    }
    let options = RunOptions { validator: Some("absent".into()), ..RunOptions::default() };
    let (chat, to) = ("c".into(), "assistant".into());
    let speech = ChatMessage { chat, to, text: "Do it.".into(), options, ..ChatMessage::default() };
    let model = ScriptedModel::deciding(|_| Some(Ok(Script::text("Yes."))));
    let world = World::builder(model).kinds(kinds(Guardrails::default())).start().await;
    assert_eq!(world.client().speak(speech, None).await.unwrap_err().to_string(), why);
}

#[tokio::test]
async fn a_message_can_name_a_guardrail_for_its_answer() {
    let builder = World::builder(ScriptedModel::deciding(writes_please_once_refused))
        .kinds(kinds(Guardrails::default()))
        .guardrail("polite", Arc::new(Polite::default()));
    let world = builder.start().await;
    let options = RunOptions { validator: Some("polite".into()), ..RunOptions::default() };
    let speech = ChatMessage {
        chat: "c".into(),
        to: "assistant".into(),
        text: "Do it.".into(),
        options,
        ..ChatMessage::default()
    };
    let spoken = world.client().speak(speech, None).await.unwrap();
    let root = world.ended(spoken.root).await;
    let (run, lines) = outcome(&world, &root).await;
    assert_eq!((run.status, lines.len()), (Status::Succeeded, 4), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guardrail_decisions_survive_a_crash_at_every_commit() {
    let by_text = || {
        let guardrails = Guardrails { input: polite(), output: polite(), ..Guardrails::default() };
        World::builder(ScriptedModel::deciding(writes_please_once_refused)).kinds(kinds(guardrails))
    };
    // Message, verdict, answer, refusal, answer.
    assert_survives_crashes(by_text, 5).await;
    let by_call = || {
        let model = ScriptedModel::deciding(|request| Some(Ok(send_to_user(corrected_text(request)))));
        let builder = World::builder(model).tools(crate::kit::first_tools());
        builder.kinds(kind_that_sends_messages(ProgramName::default(), 1))
    };
    // Message, call, refusal, call, output.
    assert_survives_crashes(by_call, 5).await;
}

async fn assert_survives_crashes(builder: impl Fn() -> WorldBuilder, items: usize) {
    let run = async |at: u64, fault: Fault| {
        let builder = builder().guardrail("polite", Arc::new(Polite::default()));
        let world = builder.start_with(at, fault).await;
        let faults = world.faults().clone();
        let root = world.ask("Do it, please.").await;
        let ended = faults.unless_dead(world.ended(root.id)).await;
        let world = if ended.is_some() { world } else { world.restart(Faults::default()).await };
        let root = world.ended(root.id).await;
        (outcome(&world, &root).await.1, faults.commits())
    };
    let (expected, commits) = run(u64::MAX, Fault::DieBefore).await;
    assert_eq!(expected.len(), items, "{expected:?}");
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
            assert_eq!(run(at, fault).await.0, expected, "{at} {fault:?}");
        }
    }
}

/// Answers immediately this many times, then makes a call, then answers.
fn calls_look_after(answers: usize) -> ScriptedModel {
    let at_once = (0..answers).map(|_| Script::text("I know."));
    ScriptedModel::new(at_once.chain([Script::call("look", json!({})), Script::text("It says A.")]))
}

fn look_tool() -> Toolbox {
    let effects = Effects::default();
    Toolbox::new().with(TestTool::answering("look", Effect::Pure, &effects, |_, _| Ok(Outcome::text("A"))))
}

#[tokio::test]
async fn min_calls_refuses_an_answer_given_before_any_tool_call() {
    let model = calls_look_after(1);
    let builder =
        World::builder(model.clone()).kinds(kinds(Guardrails { min_calls: 1, ..Guardrails::default() }));
    let (_, _, run, lines) = run_to_the_end(builder.tools(look_tool()), "What does it say?").await;
    assert_eq!((run.status, run.stop_reason), (Status::Succeeded, Some(StopReason::Completed)), "{lines:?}");
    let refused = "notice output_rejected: `guardrails.min_calls` rejected the answer: 0 of at least 1 tool \
                   calls succeeded; available tools: look. Fix this and answer again.";
    assert_eq!(lines[2], refused);
    assert_eq!(lines.last().map(String::as_str), Some("turn: It says A.[]"));
}

#[tokio::test]
async fn min_calls_fails_a_run_that_answers_again_without_a_call() {
    let model = calls_look_after(2);
    let builder =
        World::builder(model.clone()).kinds(kinds(Guardrails { min_calls: 1, ..Guardrails::default() }));
    let (_, _, run, _) = run_to_the_end(builder.tools(look_tool()), "What does it say?").await;
    assert_eq!((run.status, run.stop_reason), (Status::Failed, Some(StopReason::ValidationFailed)));
}
