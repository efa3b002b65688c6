//! A tool whose calls run code, which here is a function of the test: it runs from its top each time, and stops where it
//! must wait.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use entourage_tools::{
    Caller, CodeCalls, Context, Effect, Error, Outcome, Result as ToolResult, SubCall, SubCallRecord, Tool,
};
use entourage_types::{CallId, Output, ToolSpec, tool_names};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The code cannot go on before all calls of one of these groups have their outputs.
pub(crate) struct Waits(pub(crate) Vec<Vec<usize>>);

type Body = dyn Fn(&mut Code, &Value) -> Result<String, Waits> + Send + Sync;

/// The snapshots of code that waits. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Snapshots {
    are_kept: bool,
    resumed: Arc<AtomicUsize>,
}

impl Snapshots {
    /// Code gives one whenever it waits; otherwise it gives none.
    pub(crate) fn kept() -> Self {
        Self { are_kept: true, ..Self::default() }
    }

    /// How often code went on from one.
    pub(crate) fn resumed(&self) -> usize {
        self.resumed.load(Ordering::SeqCst)
    }
}

/// The state of code that waits: what it has called, and what it was given.
#[derive(Serialize, Deserialize)]
struct State {
    call: CallId,
    arguments: Value,
    calls: Vec<(String, Value)>,
    outputs: Vec<(usize, Output)>,
}

impl State {
    /// The state as this code has it when it waits.
    fn of(context: &Context, arguments: &Value, code: &Code) -> Self {
        let before = code.record.calls.iter().map(|call| (call.tool.clone(), call.arguments.clone()));
        let new = code.new.iter().map(|call| (call.tool.clone(), call.arguments.clone()));
        Self {
            call: context.call,
            arguments: arguments.clone(),
            calls: before.chain(new).collect(),
            outputs: code.record.outputs.clone(),
        }
    }

    /// Whether it is one of this code, at the beginning of what is on record.
    fn is_of(&self, context: &Context, arguments: &Value) -> bool {
        let record = &context.sub_calls;
        let calls = record.calls.iter().map(|call| (&call.tool, &call.arguments));
        (self.call, &self.arguments) == (context.call, arguments)
            && self.calls.iter().map(|(tool, arguments)| (tool, arguments)).eq(calls)
            && record.outputs.starts_with(&self.outputs)
    }
}

/// The tool `code`.
pub(crate) struct CodeTool {
    body: Arc<Body>,
    comes_with: Vec<&'static str>,
    snapshots: Snapshots,
}

impl CodeTool {
    pub(crate) fn new(
        body: impl Fn(&mut Code, &Value) -> Result<String, Waits> + Send + Sync + 'static,
    ) -> Self {
        let comes_with = vec![tool_names::FORK, tool_names::EMIT, tool_names::ASK_USER];
        Self { body: Arc::new(body), comes_with, snapshots: Snapshots::default() }
    }

    pub(crate) fn snapshots(self, snapshots: &Snapshots) -> Self {
        Self { snapshots: snapshots.clone(), ..self }
    }

    /// What is on record, of which the part that a snapshot contains is taken from that.
    fn record(&self, context: &Context, arguments: &Value) -> ToolResult<SubCallRecord> {
        let mut record = context.sub_calls.clone();
        let Some(snapshot) = record.snapshot.take() else { return Ok(record) };
        let state: Option<State> = serde_json::from_slice(&snapshot).ok();
        let Some(state) = state.filter(|state| state.is_of(context, arguments)) else {
            return Err(Error::Failed("the snapshot is of something else than this code".to_owned()));
        };
        self.snapshots.resumed.fetch_add(1, Ordering::SeqCst);
        let since = record.outputs.split_off(state.outputs.len());
        record.outputs = state.outputs.into_iter().chain(since).collect();
        Ok(record)
    }
}

/// One run of the code.
pub(crate) struct Code {
    record: SubCallRecord,
    /// How many calls it has made in this run.
    made: usize,
    new: Vec<SubCall>,
    diverged: Option<String>,
    trouble: Option<Error>,
}

impl Code {
    /// Makes a call and goes on; returns its number.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> usize {
        let number = self.made;
        self.made += 1;
        match self.record.calls.get(number) {
            Some(before) if (&*before.tool, &before.arguments) == (tool, &arguments) => {}
            Some(before) => {
                self.diverged = Some(format!("call {number} was {}, and is {tool}", before.tool));
            }
            None => self.new.push(SubCall { tool: tool.to_owned(), arguments }),
        }
        number
    }

    pub(crate) fn fork(&mut self, prompt: &str) -> usize {
        self.call(tool_names::FORK, json!({ "prompt": prompt }))
    }

    pub(crate) fn ask(&mut self, question: &str) -> Result<Output, Waits> {
        let asked = self.call(tool_names::ASK_USER, json!({ "question": question }));
        self.wait(asked)
    }

    /// Waits for the output of a call.
    pub(crate) fn wait(&self, number: usize) -> Result<Output, Waits> {
        self.record.output(number).cloned().ok_or_else(|| Waits(vec![vec![number]]))
    }

    /// What runs the code is not there, if it was not there less often than this in a row.
    pub(crate) fn unavailable(&mut self, times: u32) -> Result<(), Waits> {
        if self.record.failures >= times {
            return Ok(());
        }
        let why = format!("the machine is not well ({})", self.record.failures);
        self.trouble = Some(Error::Unavailable(why));
        Err(Waits(vec![]))
    }

    /// What runs the code is killed, if it was killed less often than this.
    pub(crate) fn killed(&mut self, times: u32) -> Result<(), Waits> {
        if self.record.kills >= times {
            return Ok(());
        }
        self.trouble = Some(Error::Killed("it was killed".to_owned()));
        Err(Waits(vec![]))
    }

    /// How many outputs the code was given.
    pub(crate) fn outputs(&self) -> usize {
        self.record.outputs.len()
    }

    /// Waits for the first of these calls that returns.
    pub(crate) fn first(&self, numbers: &[usize]) -> Result<(usize, Output), Waits> {
        let first = self.record.outputs.iter().find(|(number, _)| numbers.contains(number));
        first.cloned().ok_or_else(|| Waits(numbers.iter().map(|number| vec![*number]).collect()))
    }
}

#[async_trait]
impl Tool for CodeTool {
    fn name(&self) -> &str {
        "code"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new("code", "Runs code.", json!({ "type": "object" })))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn comes_with(&self) -> &[&str] {
        &self.comes_with
    }

    async fn call(&self, context: &Context, arguments: Value) -> ToolResult<Outcome> {
        let record = self.record(context, &arguments)?;
        let mut code = Code { record, made: 0, new: Vec::new(), diverged: None, trouble: None };
        let ended = (self.body)(&mut code, &arguments);
        if let Some(why) = code.diverged {
            return Err(Error::Failed(why));
        }
        if let Some(trouble) = code.trouble {
            return Err(trouble);
        }
        let Waits(awaits) = match ended {
            Ok(text) => return Ok(Outcome::text(text)),
            Err(waits) => waits,
        };
        let is_kept = self.snapshots.are_kept;
        let snapshot = is_kept.then(|| serde_json::to_vec(&State::of(context, &arguments, &code)).unwrap());
        Ok(Outcome::Calls(CodeCalls { calls: code.new, awaits, snapshot }))
    }
}
