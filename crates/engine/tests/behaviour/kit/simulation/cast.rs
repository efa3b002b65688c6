//! The participants: kinds of every input policy, a model that improvises, tools of every class.
//! All of them have faults until the simulation calms down.

use std::{
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::Kinds;
use entourage_llm::{Delta, Deltas, Error as ModelError, Message, Model, Reply, Request, Result as Answered};
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Settings, Tool, Toolbox, builtin};
use entourage_types::{
    AgentId, ApprovalRule, CallId, Comparison, Condition, ContextPolicy, Cost, Input, Kind, Limits,
    ProgramName, Reply as Says, Section, ToolCall, ToolSpec, Usage, Verdict, tool_names,
};
use serde_json::{Value, json};

use super::{
    plan::{MOST_PARTS, PLAN},
    purse::Purse,
};
use crate::kit::{Bug, Code, CodeTool, Dice, Effects, Snapshots, Waits, bare};

/// Longer than any call may take.
const FOR_EVER: Duration = Duration::from_secs(86_400);

/// The tools of each effect class.
const PROPS: [&str; 3] = ["look", "put", "pay"];

/// What all participants share.
#[derive(Clone)]
pub(super) struct Mood {
    pub(super) dice: Dice,
    pub(super) bug: Option<Bug>,
    pub(super) calls: Calls,
    calm: Arc<AtomicBool>,
}

/// The agents whose calls are under way. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<Vec<AgentId>>>);

/// One call, until dropped.
struct UnderWay(Calls, AgentId);

impl Calls {
    /// Whether a call of this agent is under way.
    pub(super) fn are_made_by(&self, agent: AgentId) -> bool {
        self.locked().contains(&agent)
    }

    fn begin(&self, agent: AgentId) -> UnderWay {
        self.locked().push(agent);
        UnderWay(self.clone(), agent)
    }

    fn locked(&self) -> MutexGuard<'_, Vec<AgentId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut calls = self.0.locked();
        if let Some(nth) = calls.iter().position(|agent| *agent == self.1) {
            calls.swap_remove(nth);
        }
    }
}

impl Mood {
    pub(super) fn new(dice: Dice, bug: Option<Bug>) -> Self {
        Self { dice, bug, calls: Calls::default(), calm: Arc::default() }
    }

    /// From here on nothing fails, and runs come to an end.
    pub(super) fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Whether a fault of this probability, in percent, happens.
    fn trouble(&self, of_hundred: usize) -> bool {
        !self.is_calm() && self.dice.chance(of_hundred)
    }
}

/// The kinds of which people create agents.
pub(super) const KINDS: [&str; 7] =
    ["lead", "queueing", "dropping", "refusing", "talking", "chatting", "planning"];

/// The content of the kind files, in one edition or the other.
pub(super) fn kinds(second: bool, purse: Purse) -> Kinds {
    type Editions = [Kinds; 2];
    static ALL: LazyLock<[Editions; 3]> =
        LazyLock::new(|| Purse::ALL.map(|purse| [false, true].map(|second| edition(second, purse))));
    ALL[purse as usize][usize::from(second)].clone()
}

fn edition(second: bool, purse: Purse) -> Kinds {
    let limits = Limits {
        max_steps: if second { 5 } else { 6 },
        max_depth: 2,
        max_children: 3,
        max_tree: 6,
        max_attempts: 4,
        tool_seconds: 30,
        ..Limits::default()
    };
    let budgeted = purse.limit_tree(limits.clone());
    use Input::{Interrupt, Queue, Refuse, Steer};
    let inputs = [Steer, Queue, Interrupt, Refuse, Steer, Steer, Steer];
    let sections = vec![Section::Time, Section::Notes, Section::Learnings, Section::SubAgents];
    let time_minutes = if second { 1 } else { 5 };
    let context = ContextPolicy { sections, time_minutes, ..ContextPolicy::default() };
    let kind = |name: &str, input: Input| {
        let talks = name == "talking";
        let program = match name {
            "chatting" => ProgramName::new(ProgramName::ORCHESTRATE),
            "planning" => ProgramName::new(PLAN),
            _ => ProgramName::default(),
        };
        Kind {
            program,
            instructions: if second { "Improvise anew." } else { "Improvise." }.into(),
            peers: vec!["lead".into(), "queueing".into()],
            conversational: talks,
            reply: if talks { Says::SendMessage } else { Says::FinalText },
            input,
            limits: if name == "lead" { budgeted.clone() } else { limits.clone() },
            approval: vec![dear()],
            version: format!("{name} {second}"),
            context: context.clone(),
            ..bare(name)
        }
    };
    KINDS.into_iter().zip(inputs).fold(Kinds::none(), |kinds, (name, input)| kinds.with(kind(name, input)))
}

/// Large payments wait for the approval of a person, who has a minute.
fn dear() -> ApprovalRule {
    ApprovalRule {
        tools: vec!["pay".into()],
        effects: Vec::new(),
        when: vec![Condition { argument: "n".into(), comparison: Comparison::AtLeast, value: json!(5) }],
        answer_seconds: Some(60),
        otherwise: Verdict::Reject,
    }
}

/// A model that makes random calls of the tools it is offered.
pub(super) struct Improviser(pub(super) Mood, pub(super) Purse);

impl Improviser {
    fn trouble(&self) -> Option<ModelError> {
        let (model, dice) = ("improviser".to_owned(), &self.0.dice);
        let after = dice.chance(50).then(|| Duration::from_secs(dice.below(40) as u64));
        self.0.trouble(15).then(|| match dice.below(7) {
            0 => ModelError::RateLimited { model, retry_after: after },
            1 => ModelError::Unavailable { model, cause: "500".into(), retry_after: after },
            2 => ModelError::TimedOut { model, after: Duration::from_secs(60) },
            3 => ModelError::BadAnswer { model, what: "empty".into() },
            4 => ModelError::BadAnswer { model, what: "cut off".into() },
            5 => ModelError::Busy { model, after: Duration::from_secs(5) },
            _ => ModelError::Refused { model, cause: "400".into() },
        })
    }

    /// A decision, or an answer that is none.
    fn decision(&self) -> String {
        let dice = &self.0.dice;
        if self.0.trouble(30) {
            return dice
                .pick(&["Perhaps.", "{\"yes\": 1}", "{\"yes\": "])
                .copied()
                .unwrap_or_default()
                .into();
        }
        json!({ "yes": dice.chance(50), "parts": dice.below(MOST_PARTS + 1) }).to_string()
    }

    fn call(&self, request: &Request) -> ToolCall {
        let (dice, tools) = (&self.0.dice, &request.tools[..]);
        let id = if self.0.bug == Some(Bug::CallIdsRepeat) { repeated() } else { CallId::new() };
        if self.0.trouble(4) {
            return ToolCall { id, tool: "no such tool".into(), arguments: json!({}) };
        }
        // Without preference there would be few effects, since most tools are of other sorts.
        let effects: Vec<&ToolSpec> = tools.iter().filter(|tool| PROPS.contains(&&*tool.name)).collect();
        let preferred = dice.pick(&effects).copied().filter(|_| dice.chance(50));
        let Some(spec) = preferred.or_else(|| dice.pick(tools)) else {
            return ToolCall { id, tool: "look".into(), arguments: json!({}) };
        };
        let choice = |argument: &str| {
            let names = spec.parameters["properties"][argument]["enum"].as_array();
            names.and_then(|names| dice.pick(names)).cloned().unwrap_or_default()
        };
        let arguments = match spec.name.as_str() {
            _ if self.0.trouble(4) => Value::String("{\"cut off\": ".into()),
            "look" | "put" | "pay" | "code" => json!({ "n": dice.below(10) }),
            "send_message" if choice("recipient").is_null() => json!({ "message": "so it is" }),
            "send_message" => json!({ "recipient": choice("recipient"), "message": "help me" }),
            "spawn_agent" => json!({ "kind": choice("kind"), "task": "look around" }),
            "reactivate_agent" => json!({ "agent": dice.pick(&made(request)), "message": "go on" }),
            "ask_user" => json!({ "question": "Shall I?" }),
            "wait" => json!({ "seconds": 1 + dice.below(120) }),
            "create_note" => json!({ "title": "a note", "content": "of something" }),
            _ => json!({ "query": "something" }),
        };
        ToolCall { id, tool: spec.name.clone(), arguments }
    }
}

/// The agents that the request lists as created in the background.
fn made(request: &Request) -> Vec<String> {
    let outputs = request.messages.iter().filter_map(|message| match message {
        Message::Output { tool, text, .. } if tool == "spawn_agent" => Some(text),
        _ => None,
    });
    let id = |text: &String| Some(text.get(text.find("agt_")?..)?.get(..36)?.to_owned());
    outputs.filter_map(id).collect()
}

/// The call id of a provider that numbers the calls of each answer, used as if it were the
/// engine's.
fn repeated() -> CallId {
    CallId::from_uuid(uuid::Uuid::nil())
}

#[async_trait]
impl Model for Improviser {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Answered<Reply> {
        let dice = &self.0.dice;
        dice.linger().await;
        if let Some(error) = self.trouble() {
            deltas.delta(Delta::Text("It".into()));
            dice.linger().await;
            return Err(error);
        }
        let decides = request.output_schema.is_some();
        let ends = decides || dice.chance(if self.0.is_calm() { 70 } else { 30 });
        let calls = if ends { 0 } else { 1 + dice.below(3) };
        let text = match ends {
            true if decides => self.decision(),
            true => "It is so.".to_owned(),
            false => String::new(),
        };
        if ends {
            deltas.delta(Delta::Text(text.clone()));
        }
        let usage = Usage { input: 1 + dice.below(100) as u64, output: 1, ..Usage::default() };
        let calls = (0..calls).map(|_| self.call(&request)).collect();
        let said = dice.chance(80).then(|| Cost::from_nanos(dice.below(1000) as u64));
        let cost = self.price(None, &usage).or(said);
        Ok(Reply { text, calls, model: "improviser".into(), usage, cost })
    }

    fn price(&self, _: Option<&str>, usage: &Usage) -> Option<Cost> {
        self.1.price(usage)
    }

    fn describe(&self) -> String {
        "improvises, for simulations".into()
    }
}

/// A tool of any class, which may be slow, fail or hang before its effect and after it.
struct Prop {
    name: &'static str,
    effect: Effect,
    effects: Effects,
    mood: Mood,
}

impl Prop {
    async fn trouble(&self) -> Result<(), Error> {
        self.mood.dice.linger().await;
        // Slow by turns and not by time: time passes in leaps, after which the call has timed out.
        if self.mood.trouble(40) {
            for _ in 0..self.mood.dice.below(400) {
                tokio::task::yield_now().await;
            }
        }
        if self.mood.trouble(4) {
            tokio::time::sleep(FOR_EVER).await;
        }
        if self.mood.trouble(6) { Err(Error::Failed("it broke".into())) } else { Ok(()) }
    }
}

#[async_trait]
impl Tool for Prop {
    fn name(&self) -> &str {
        self.name
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        let parameters = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
        Some(ToolSpec::new(self.name, "", parameters))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome, Error> {
        let _under_way = self.mood.calls.begin(context.agent);
        self.trouble().await?;
        self.effects.happens(context, self.effect);
        if self.mood.bug == Some(Bug::ToolActsTwice) {
            self.effects.happens(context, self.effect);
        }
        self.trouble().await?;
        Ok(Outcome::text(format!("{} {arguments}", self.name)))
    }
}

/// Code of several sorts: agents, tools of each class, questions, times; some of it leaves what it has begun.
fn code(code: &mut Code, arguments: &Value) -> Result<String, Waits> {
    let sort = arguments["n"].as_u64().unwrap_or_default();
    Ok(match sort {
        0 | 1 => {
            let (one, other) = (code.fork("look around"), code.fork("look there"));
            format!("{}, {}", code.wait(one)?.text, code.wait(other)?.text)
        }
        2 => {
            let calls = ["look", "put", "pay"].map(|tool| code.call(tool, json!({ "n": 4 })));
            let [look, put, pay] = calls.map(|call| code.wait(call));
            format!("{} {} {}", look?.text, put?.text, pay?.text)
        }
        3 => code.ask("Shall I?")?.text,
        4 => {
            let forked = code.fork("look around");
            let slept = code.call("wait", json!({ "seconds": 30 }));
            code.first(&[forked, slept])?.1.text
        }
        5 => {
            let noted = code.call("create_note", json!({ "title": "of code", "content": "something" }));
            code.call("emit", json!({ "text": "noted" }));
            code.wait(noted)?.text
        }
        6 => {
            let asked = code.call("send_message", json!({ "recipient": "lead", "message": "help me" }));
            code.wait(asked)?.text
        }
        _ => {
            let paid = code.call("pay", json!({ "n": sort }));
            code.wait(paid)?.text
        }
    })
}

pub(super) fn tools(effects: &Effects, mood: &Mood, snapshots: &Snapshots) -> Toolbox {
    let classes = PROPS.into_iter().zip([Effect::Pure, Effect::Idempotent, Effect::Unsafe]);
    let mut tools = Toolbox::new();
    let all = builtin(Settings::default());
    for name in
        ["send_message", "spawn_agent", "reactivate_agent", "ask_user", "wait", "create_note", "search_notes"]
            .into_iter()
            .chain([tool_names::FORK, tool_names::EMIT])
    {
        all.get(name).into_iter().for_each(|tool| tools.add(Arc::clone(tool)).expect("a name of its own"));
    }
    let tools = tools.with(CodeTool::new(code).snapshots(snapshots));
    classes.fold(tools, |tools, (name, effect)| {
        tools.with(Prop { name, effect, effects: effects.clone(), mood: mood.clone() })
    })
}
