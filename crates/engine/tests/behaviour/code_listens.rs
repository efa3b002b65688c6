//! Code that makes one call after another hears what arrives meanwhile.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::Client;
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{World, plain};
use entourage_tools::{Caller, Context, Done, Effect, Error, Outcome, Tool};
use entourage_types::{
    Action, AgentId, Answer, ApprovalRule, Owner, QuestionStatus, Scope, Status, Step, ToolSpec, Verdict,
    Wait, WaitingOn,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::kit::{Code, CodeTool, Effects, TestTool, Waits, WorldExt, eventually, first_tools, one_kind};

/// How many calls the code makes if nothing keeps it from that.
const TICKS: usize = 60;

/// What a person does meanwhile.
#[derive(Clone, Copy)]
enum Meanwhile {
    Answers,
    Pauses,
}

/// A tool in whose fifth call a person does something.
struct Tick {
    person: Arc<OnceLock<(Client, AgentId)>>,
    does: Meanwhile,
    made: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for Tick {
    fn name(&self) -> &str {
        "tick"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("tick", "Counts.", json!({ "type": "object" })))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        if self.made.fetch_add(1, Ordering::SeqCst) + 1 == 5 {
            let (client, root) = loop {
                match self.person.get() {
                    Some(person) => break person,
                    None => tokio::task::yield_now().await,
                }
            };
            match self.does {
                Meanwhile::Answers => {
                    let asked = client.questions(None, None, Page::all()).await.unwrap().remove(0);
                    client.answer(asked.id, Answer::Text("enough".into())).await.unwrap();
                }
                Meanwhile::Pauses => drop(client.intervene(*root, Action::Pause, None).await.unwrap()),
            }
        }
        Ok(Outcome::text("tick"))
    }
}

/// Asks, and calls until there is an answer.
fn asks_beside(code: &mut Code) -> Result<String, Waits> {
    let asked = code.call("ask_user", json!({ "question": "How long?" }));
    for made in 0..TICKS {
        let tick = code.call("tick", json!({}));
        let (first, output) = code.first(&[asked, tick])?;
        if first == asked {
            return Ok(format!("{} after {made}", output.text));
        }
        code.wait(tick)?;
    }
    Ok("no answer".to_owned())
}

/// One call after another, beside a question that nobody answers.
fn ticks(code: &mut Code) -> Result<String, Waits> {
    for _ in 0..TICKS {
        let tick = code.call("tick", json!({}));
        code.wait(tick)?;
    }
    Ok("done".to_owned())
}

fn decide(request: &Request) -> Script {
    match request.messages.last() {
        Some(Message::User(_)) => Script::call("code", json!({})),
        Some(Message::Output { text, .. }) => Script::text(text.clone()),
        other => Script::text(format!("unexpected {other:?}")),
    }
}

async fn begun(
    code: fn(&mut Code) -> Result<String, Waits>,
    does: Meanwhile,
) -> (World, AgentId, Arc<AtomicUsize>) {
    let model = ScriptedModel::deciding(|request| Some(Ok(decide(request))));
    let (person, made) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
    let tick = Tick { person: Arc::clone(&person), does, made: Arc::clone(&made) };
    let tools = first_tools().with(CodeTool::new(move |run, _| code(run))).with(tick);
    let world = World::builder(model).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await.id;
    assert!(person.set((world.client(), root)).is_ok());
    (world, root, made)
}

#[tokio::test]
async fn an_answer_reaches_code_that_makes_one_call_after_another() {
    let (world, root, made) = begun(asks_beside, Meanwhile::Answers).await;
    world.ended(root).await;
    let lines = plain(&world.client().items(root, 0, 1_000).await.unwrap());
    assert!(lines.iter().any(|line| line.starts_with("output: enough after ")), "{lines:#?}");
    assert!(made.load(Ordering::SeqCst) <= 8, "{made:?}");
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_pause_reaches_code_between_two_of_its_calls_and_it_goes_on_when_it_is_resumed() {
    let (world, root, made) = begun(ticks, Meanwhile::Pauses).await;
    let agent = async || world.client().agent(root).await.unwrap();
    let is_paused = |agent: &entourage_types::Agent| agent.waiting_on == Some(WaitingOn::Resume);
    eventually("it is paused", agent, is_paused).await;
    assert!(made.load(Ordering::SeqCst) <= 8, "{made:?}");
    world.client().intervene(root, Action::Resume, None).await.unwrap();
    assert_eq!(world.ended(root).await.status, Status::Succeeded);
    assert_eq!(made.load(Ordering::SeqCst), TICKS);
    assert_eq!(world.audit().await, []);
    assert_eq!(world.inconsistencies().await, Vec::<String>::new());
}

/// A call that never ends.
struct Hangs;

#[async_trait]
impl Tool for Hangs {
    fn name(&self) -> &str {
        "hang"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("hang", "Never returns.", json!({ "type": "object" })))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn an_answer_reaches_code_beside_a_call_that_does_not_end() {
    let code = CodeTool::new(|code: &mut Code, _: &Value| {
        let asked = code.call("ask_user", json!({ "question": "How long?" }));
        let hangs = code.call("hang", json!({}));
        code.first(&[asked, hangs]).map(|(_, output)| output.text)
    });
    let model = ScriptedModel::deciding(|request| Some(Ok(decide(request))));
    let tools = first_tools().with(code).with(Hangs);
    let world = World::builder(model).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await.id;
    let asked = world.question(root).await;
    // The activation that makes the calls goes on meanwhile.
    let client = world.engine().client(Owner::local());
    client.answer(asked.id, Answer::Text("enough".into())).await.unwrap();
    assert_eq!(world.ended(root).await.status, Status::Succeeded);
    let lines = plain(&client.items(root, 0, 1_000).await.unwrap());
    assert!(lines.iter().any(|line| line == "output: enough"), "{lines:#?}");
    assert_eq!(world.audit().await, []);
}

/// A world whose code makes these calls beside one that does not end, and returns what comes first of them.
async fn beside_one_that_hangs(tool: &'static str, arguments: Value, effects: &Effects) -> (World, AgentId) {
    let code = CodeTool::new(move |code: &mut Code, _: &Value| {
        let all = [code.call("hang", json!({})), code.call(tool, arguments.clone())];
        code.first(&all).map(|(_, output)| output.text)
    });
    let model = ScriptedModel::deciding(|request| Some(Ok(decide(request))));
    let pay = TestTool::new("pay", Effect::Unsafe, effects);
    let kinds = one_kind(|kind| kind.approval = vec![ApprovalRule::of("pay")]);
    let tools = first_tools().with(code).with(Hangs).with(pay);
    let world = World::builder(model).tools(tools).kinds(kinds).start().await;
    let root = world.ask("Go.").await.id;
    (world, root)
}

async fn output(world: &World, root: AgentId) -> String {
    assert_eq!(world.ended(root).await.status, Status::Succeeded);
    assert_eq!(world.audit().await, []);
    let lines = plain(&world.client().items(root, 0, 1_000).await.unwrap());
    lines.into_iter().find(|line| line.starts_with("output")).unwrap()
}

#[tokio::test]
async fn a_call_that_is_approved_begins_beside_one_that_does_not_end() {
    let effects = Effects::default();
    let (world, root) = beside_one_that_hangs("pay", json!({ "n": 1 }), &effects).await;
    let asked = world.question(root).await;
    assert_eq!(effects.per_call(), [0; 0]);
    world.client().answer(asked.id, Verdict::Approve.into()).await.unwrap();
    assert_eq!(output(&world, root).await, "output: pay: {\"n\":1}");
    assert_eq!(effects.per_call(), [1]);
}

/// An approval and a pause that come together: the call begins when the agent is resumed, and once.
#[tokio::test]
async fn a_call_that_is_approved_during_a_pause_begins_after_it() {
    let effects = Effects::default();
    let (world, root) = beside_one_that_hangs("pay", json!({ "n": 1 }), &effects).await;
    let (asked, client) = (world.question(root).await, world.client());
    client.intervene(root, Action::Pause, None).await.unwrap();
    client.answer(asked.id, Verdict::Approve.into()).await.unwrap();
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(effects.per_call(), [0; 0]);
    client.intervene(root, Action::Resume, None).await.unwrap();
    assert_eq!(output(&world, root).await, "output: pay: {\"n\":1}");
    assert_eq!(effects.per_call(), [1]);
}

/// As many calls that do not end as run at once, and one that a person must approve.
#[tokio::test]
async fn an_approval_is_asked_for_though_no_more_calls_can_begin() {
    let code = CodeTool::new(|code: &mut Code, _: &Value| {
        for _ in 0..40 {
            code.call("hang", json!({}));
        }
        let asked = code.call("pay", json!({ "n": 1 }));
        code.wait(asked).map(|output| output.text)
    });
    let model = ScriptedModel::deciding(|request| Some(Ok(decide(request))));
    let effects = Effects::default();
    let pay = TestTool::new("pay", Effect::Unsafe, &effects);
    let kinds = one_kind(|kind| kind.approval = vec![ApprovalRule::of("pay")]);
    let world = World::builder(model)
        .tools(first_tools().with(code).with(Hangs).with(pay))
        .kinds(kinds)
        .start()
        .await;
    let root = world.ask("Go.").await.id;
    let asked = world.question(root).await;
    world.client().answer(asked.id, Answer::Reject { reason: None }).await.unwrap();
    let said = output(&world, root).await;
    assert!(said.starts_with("output: The user rejected the call"), "{said}");
    assert_eq!(effects.per_call(), [0; 0]);
}

/// Calls with an effect that end when they are let go.
struct Gated {
    gate: Arc<Semaphore>,
    begun: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for Gated {
    fn name(&self) -> &str {
        "send"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("send", "Sends.", json!({ "type": "object" })))
    }

    fn effect(&self) -> Effect {
        Effect::Unsafe
    }

    async fn call(&self, _: &Context, _: Value) -> Result<Outcome, Error> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.gate.acquire().await.unwrap().forget();
        Ok(Outcome::text("sent"))
    }
}

/// A person approves many calls, and pauses the agent when as many have begun as run at once: the others have no intent on
/// record, so nobody is asked whether they happened.
#[tokio::test]
async fn approved_calls_that_have_not_begun_at_a_pause_begin_after_it_and_none_is_in_doubt() {
    const CALLS: usize = 40;
    let code = CodeTool::new(|code: &mut Code, _: &Value| {
        let sent: Vec<usize> = (0..CALLS).map(|_| code.call("send", json!({}))).collect();
        sent.into_iter().try_for_each(|call| code.wait(call).map(drop))?;
        Ok("done".to_owned())
    });
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let gated = Gated { gate: Arc::clone(&gate), begun: Arc::clone(&begun) };
    let model = ScriptedModel::deciding(|request| Some(Ok(decide(request))));
    let kinds = one_kind(|kind| kind.approval = vec![ApprovalRule::of("send")]);
    let world = World::builder(model).tools(first_tools().with(code).with(gated)).kinds(kinds).start().await;
    let root = world.ask("Go.").await.id;
    let client = world.client();
    let questions = async || client.questions(Some(root), None, Page::all()).await.unwrap();
    for question in eventually("all are asked for", questions, |all| all.len() == CALLS).await {
        client.answer(question.id, Verdict::Approve.into()).await.unwrap();
    }
    let count = async || begun.load(Ordering::SeqCst);
    eventually("as many begin as may", count, |begun| *begun == 16).await;
    client.intervene(root, Action::Pause, None).await.unwrap();
    // Those that run end, one after the other; none begins in its place once the pause was heard.
    gate.add_permits(CALLS);
    let agent = async || client.agent(root).await.unwrap();
    let is_paused = |agent: &entourage_types::Agent| agent.waiting_on == Some(WaitingOn::Resume);
    eventually("it is paused", agent, is_paused).await;
    assert!(begun.load(Ordering::SeqCst) < CALLS, "{begun:?}");
    client.intervene(root, Action::Resume, None).await.unwrap();
    assert_eq!(output(&world, root).await, "output: done");
    assert_eq!(begun.load(Ordering::SeqCst), CALLS);
    assert_eq!(questions().await.len(), CALLS, "nobody is asked whether a call happened");
}

#[tokio::test]
async fn a_wait_of_code_ends_at_its_time_beside_a_call_that_does_not_end() {
    let (world, root) = beside_one_that_hangs("wait", json!({ "seconds": 60 }), &Effects::default()).await;
    let steps = async || match world.client().runs(root, Page::default()).await.unwrap().first() {
        Some(run) => world.store().steps(&Scope::All, run.id).await.unwrap(),
        None => Vec::new(),
    };
    let waits = |steps: &Vec<Step>| steps.iter().any(|step| matches!(step.wait(), Some(Wait::Until { .. })));
    eventually("it waits", steps, waits).await;
    world.clock().advance(Duration::from_secs(60));
    assert_eq!(output(&world, root).await, "output: The time has passed.");
}

/// Neither waits for the end of the call.
#[tokio::test]
async fn a_stop_and_a_new_instruction_end_code_beside_a_call_that_does_not_end() {
    for action in [Action::Stop, Action::Modify] {
        let (world, root) =
            beside_one_that_hangs("ask_user", json!({ "question": "?" }), &Effects::default()).await;
        world.question(root).await;
        let text = (action == Action::Modify).then_some("Say hello.");
        world.engine().client(Owner::local()).intervene(root, action, text).await.unwrap();
        let lines = async || plain(&world.client().items(root, 0, 1_000).await.unwrap());
        let has_ended =
            |lines: &Vec<String>| lines.iter().any(|line| line.starts_with("output!: not answered"));
        eventually("its call has an output", lines, has_ended).await;
        let questions = world.client().questions(Some(root), None, Page::all()).await.unwrap();
        assert_eq!(questions[0].status, QuestionStatus::Expired, "{action:?}");
    }
}

/// Of many calls that code makes at once, those that have not begun when a person pauses begin when the agent is resumed.
#[tokio::test]
async fn a_pause_meets_few_of_many_calls_of_code() {
    let code = |code: &mut Code| {
        let ticks: Vec<usize> = (0..TICKS).map(|_| code.call("tick", json!({}))).collect();
        for tick in ticks {
            code.wait(tick)?;
        }
        Ok("done".to_owned())
    };
    let (world, root, made) = begun(code, Meanwhile::Pauses).await;
    let agent = async || world.client().agent(root).await.unwrap();
    let is_paused = |agent: &entourage_types::Agent| agent.waiting_on == Some(WaitingOn::Resume);
    eventually("it is paused", agent, is_paused).await;
    // At most sixteen run at once; some had ended before it was heard, and others had begun in their places.
    assert!(made.load(Ordering::SeqCst) <= 32, "{made:?}");
    world.client().intervene(root, Action::Resume, None).await.unwrap();
    assert_eq!(world.ended(root).await.status, Status::Succeeded);
    assert_eq!(made.load(Ordering::SeqCst), TICKS);
    assert_eq!(world.audit().await, []);
    assert_eq!(world.inconsistencies().await, Vec::<String>::new());
}

/// More calls than run at once, the first of which answers and the last of which asks.
#[tokio::test]
async fn an_answer_waits_for_calls_of_its_turn_that_have_not_begun() {
    let turn =
        (0..29).fold(Script::call("conclude", json!({})), |turn, n| turn.and_call("echo", json!({ "n": n })));
    let turn = turn.and_call("ask_user", json!({ "question": "Is that all?" }));
    let effects = Effects::default();
    let conclude = TestTool::answering("conclude", Effect::Pure, &Effects::default(), |_, _| {
        Ok(Outcome::Done(Done { answer: Some("All seen.".into()), ..Done::default() }))
    });
    let tools = first_tools().with(TestTool::new("echo", Effect::Unsafe, &effects)).with(conclude);
    let model = ScriptedModel::new([turn, Script::text("It is.")]);
    let world = World::builder(model).tools(tools).kinds(one_kind(|_| {})).start().await;
    let root = world.ask("Go.").await.id;
    let asked = world.question(root).await;
    assert_eq!(effects.per_call(), [1; 29]);
    world.client().answer(asked.id, Answer::Text("yes".into())).await.unwrap();
    assert_eq!(world.ended(root).await.status, Status::Succeeded);
    let lines = plain(&world.client().items(root, 0, 1_000).await.unwrap());
    assert!(lines[2].starts_with("output!: ") && lines[2].contains("asks"), "it is refused: {lines:#?}");
    assert_eq!(lines[32..], ["output: yes", "turn: It is.[]"]);
    assert_eq!(world.audit().await, []);
}
