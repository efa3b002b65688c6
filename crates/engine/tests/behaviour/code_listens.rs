//! Code that makes one call after another hears what arrives meanwhile.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use entourage_engine::Client;
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{Faults, World, plain};
use entourage_tools::{Caller, Context, Done, Effect, Error, Outcome, Tool};
use entourage_types::{
    About, Action, AgentId, Answer, ApprovalRule, Question, Status, ToolSpec, Verdict, WaitingOn,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::code_beside::output;
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

pub(crate) fn decide(request: &Request) -> Script {
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
/// record, so no question asks whether they happened.
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

/// A model makes more calls in a turn than run at once, a person approves all of them, and the process ends: only those
/// that had begun are in doubt.
#[tokio::test]
async fn approved_calls_of_a_turn_that_have_not_begun_are_not_in_doubt_after_a_crash() {
    const CALLS: usize = 40;
    let turn = (0..CALLS).fold(Script::text(""), |turn, _| turn.and_call("send", json!({})));
    let model = ScriptedModel::new([turn, Script::text("Sent.")]);
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let gated = Gated { gate: Arc::clone(&gate), begun: Arc::clone(&begun) };
    let kinds = one_kind(|kind| kind.approval = vec![ApprovalRule::of("send")]);
    let world = World::builder(model).tools(first_tools().with(gated)).kinds(kinds).start().await;
    let agent = world.ask("Go.").await;
    let questions =
        async |world: &World| world.client().questions(Some(agent.root), None, Page::all()).await.unwrap();
    let asked = async || questions(&world).await;
    let first = eventually("all are asked for", asked, |all| all.len() == CALLS).await.remove(0);
    world.asleep(&agent).await;
    let always = Answer::Approve { arguments: None, always: true, digest: None };
    world.client().answer(first.id, always).await.unwrap();
    let count = async || begun.load(Ordering::SeqCst);
    eventually("as many begin as may", count, |begun| *begun == 16).await;
    let world = world.restart(Faults::default()).await;
    gate.add_permits(2 * CALLS);
    let asked = async || questions(&world).await;
    let in_doubt = |all: &[Question]| all.iter().filter(|asked| asked.about == About::Doubt).count();
    let open = eventually("those that had begun are in doubt", asked, |all| in_doubt(all) == 16).await;
    for question in open.iter().filter(|asked| asked.about == About::Doubt) {
        world.client().answer(question.id, Answer::Retry).await.unwrap();
    }
    assert_eq!(world.ended(agent.id).await.status, Status::Succeeded);
    assert_eq!(in_doubt(&questions(&world).await), 16);
    assert_eq!(begun.load(Ordering::SeqCst), CALLS + 16);
    assert_eq!(world.audit().await, []);
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
    world.client().answer(asked.id, Answer::Text("yes".into())).await.unwrap();
    assert_eq!(world.ended(root).await.status, Status::Succeeded);
    let lines = plain(&world.client().items(root, 0, 1_000).await.unwrap());
    assert_eq!(effects.per_call(), [1; 29]);
    assert!(lines[2].starts_with("output!: ") && lines[2].contains("asks"), "it is refused: {lines:#?}");
    assert_eq!(lines[32..], ["output: yes", "turn: It is.[]"]);
    assert_eq!(world.audit().await, []);
}
