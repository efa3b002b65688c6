//! The calls of one turn: one step each, side by side. What is done is committed as it gets done;
//! the outputs join the transcript together, in the order of the calls, once all are in.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use entourage_store::Write;
use entourage_tools::{Context, Effect, Error as ToolError, Outcome, Tool};
use entourage_types::{
    CallId, ItemBody, Output, Post, Record, Status, StepState, Time, ToolCall, WaitingOn, Wakeup, WakeupId,
};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use super::{Interrupt, Result, Run};
use crate::{client::said, offer::Offer};

type Ran = (usize, Result<Outcome, ToolError>);
/// Calls under way, as part of the activation: whatever ends it ends them.
type Running = FuturesUnordered<BoxFuture<'static, Ran>>;

impl Run<'_> {
    /// Answers all calls of a turn. Returns what they told the user, if they did.
    ///
    /// # Errors
    /// [`Interrupt::Suspended`] while a call waits for a person, an agent or a moment.
    pub async fn call_tools(&mut self, calls: &[ToolCall]) -> Result<Option<String>> {
        if !self.all_answered(calls) {
            self.refresh().await?;
            self.heed().await?;
        }
        if !self.all_answered(calls) {
            let again = self.take_posts(calls).await?;
            let mut running = self.dispatch(calls, &again).await?;
            let cut = self.cut.clone();
            loop {
                let ran = tokio::select! {
                    biased;
                    ran = running.next() => ran,
                    () = cut.cancelled() => return Err(Interrupt::Stopping),
                };
                let Some((index, outcome)) = ran else { break };
                self.settle(calls, index, outcome).await?;
            }
            if !self.all_answered(calls) {
                return Err(Interrupt::Suspended(self.waits_on(calls)));
            }
        }
        Ok(self.told(calls))
    }

    /// Gives the posts in the inbox to the calls that wait for them. Returns the calls that a
    /// person wants run again.
    async fn take_posts(&mut self, calls: &[ToolCall]) -> Result<Vec<CallId>> {
        let mut again = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let Some(step) = self.steps.get(&key(call)).filter(|step| step.state == StepState::Open) else {
                continue;
            };
            let step = step.clone();
            if let Some(worker) = step.value["handed_to"].as_str() {
                let text = handed_over(step.value["task"].as_str().unwrap_or_default(), worker);
                self.finish(calls, index, output(call, text, false), vec![]).await?;
                continue;
            }
            if let Some(until) = step.value["until"].as_i64() {
                if self.house.now() >= Time::from_micros(until) {
                    self.finish(calls, index, output(call, "The time has passed.", false), vec![]).await?;
                }
                continue;
            }
            let Some(at) = self.inbox.iter().position(|post| post.body.call() == Some(call.id)) else {
                continue;
            };
            let post: Post = self.inbox.remove(at);
            let read = self.read(&post);
            match self.reply_of(call, &step, &post) {
                Some(output) => self.finish(calls, index, output, vec![read]).await?,
                None => {
                    let started = self.step(&key(call), StepState::Started, Value::Null, self.house.now());
                    self.commit(vec![read, Write::Step(started)]).await?;
                    again.push(call.id);
                }
            }
        }
        Ok(again)
    }

    /// Starts the calls that nobody has begun, and those begun ones that may be begun again. The
    /// intent of a call that is not pure is on record before the call starts.
    async fn dispatch(&mut self, calls: &[ToolCall], again: &[CallId]) -> Result<Running> {
        let offer = Arc::clone(&self.offer);
        let at = self.house.now();
        let mut ready = Vec::new();
        let mut intents = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let before = self.steps.get(&key(call)).map(|step| step.state);
            if matches!(before, Some(StepState::Done | StepState::Open)) {
                continue;
            }
            let tool = match allowed(&offer, call) {
                Ok(tool) => tool,
                Err(refusal) => {
                    self.settle(calls, index, Err(refusal)).await?;
                    continue;
                }
            };
            let effect = tool.effect();
            if before == Some(StepState::Started) && effect == Effect::Unsafe && !again.contains(&call.id) {
                self.ask_whether_it_happened(call).await?;
                continue;
            }
            if effect != Effect::Pure && before.is_none() {
                intents.push(Write::Step(self.step(&key(call), StepState::Started, Value::Null, at)));
            }
            ready.push((index, Arc::clone(tool), self.context(call, at)));
        }
        if !intents.is_empty() {
            self.commit(intents).await?;
        }
        let running = Running::new();
        let alone = ready.len() == 1;
        let seconds = self.kind.limits.tool_seconds;
        for (index, tool, context) in ready {
            let arguments = calls[index].arguments.clone();
            let ran = async move { (index, run_tool(&*tool, &context, arguments, seconds).await) };
            running.push(if alone { ran.boxed() } else { beside_others(index, ran).boxed() });
        }
        Ok(running)
    }

    /// Commits what came of one call.
    async fn settle(
        &mut self,
        calls: &[ToolCall],
        index: usize,
        outcome: Result<Outcome, ToolError>,
    ) -> Result<()> {
        let call = &calls[index];
        match outcome {
            Ok(Outcome::Done(done)) => {
                let mut kept = Vec::with_capacity(done.notes.len() + done.learnings.len());
                for note in &done.notes {
                    kept.push(Write::Entity(note.entity()?));
                }
                for learning in &done.learnings {
                    kept.push(Write::Entity(learning.entity()?));
                }
                let details = match done.said {
                    Some(words) => Some(json!({ "said": words })),
                    None => done.details,
                };
                self.finish(calls, index, Output { details, ..output(call, done.text, false) }, kept).await
            }
            Ok(Outcome::Ask(ask)) => self.ask(call, ask.text, ask.options, json!({})).await,
            Ok(Outcome::Delegate(delegate)) => self.delegate(calls, index, delegate).await,
            Ok(Outcome::Await(time)) => {
                let at = self.house.now();
                let due = at + time;
                let step = self.step(&key(call), StepState::Open, json!({ "until": due.micros() }), at);
                let (agent, owner) = (self.agent.id, self.agent.owner.clone());
                let wake = Write::Wake(Wakeup { id: WakeupId::new(), agent, owner, due });
                self.commit(vec![Write::Step(step), wake]).await
            }
            Err(error) => self.finish(calls, index, output(call, error.to_string(), true), vec![]).await,
        }
    }

    /// Commits a call's output with what rides along. The last output of a turn brings all of them
    /// into the transcript.
    pub(super) async fn finish(
        &mut self,
        calls: &[ToolCall],
        index: usize,
        output: Output,
        mut writes: Vec<Write>,
    ) -> Result<()> {
        let at = self.house.now();
        let is_done =
            |call: &ToolCall| self.steps.get(&key(call)).is_some_and(|step| step.state == StepState::Done);
        let last = calls.iter().enumerate().all(|(other, call)| other == index || is_done(call));
        if !last {
            let value = serde_json::to_value(&output)?;
            writes.push(Write::Step(self.step(&key(&calls[index]), StepState::Done, value, at)));
            return self.commit(writes).await;
        }
        for (other, call) in calls.iter().enumerate() {
            let body = if other == index {
                output.clone()
            } else {
                let kept = self.steps.get(&key(call)).map(|step| step.value.clone());
                serde_json::from_value(kept.unwrap_or_default())?
            };
            writes.push(self.item(ItemBody::Output(body), at));
            // The output stands in the transcript from here on: a step that was begun is done and need
            // not hold it too, and one that was not has no need to be.
            if self.steps.contains_key(&key(call)) {
                writes.push(Write::Step(self.step(&key(call), StepState::Done, Value::Null, at)));
            }
        }
        if self.record.status != Status::Running {
            writes.push(self.run_row(Status::Running, None));
        }
        writes.extend(self.awake(at));
        self.commit(writes).await
    }

    fn context(&self, call: &ToolCall, now: Time) -> Context {
        Context {
            call: call.id,
            agent: self.agent.id,
            root: self.agent.root,
            is_root: self.agent.parent.is_none(),
            owner: self.agent.owner.clone(),
            kind: Arc::clone(&self.kind),
            now,
            notes: self.house.notes(&self.agent),
            memory: Arc::new(self.house.memory(&self.agent)),
            cancel: self.cut.child_token(),
        }
    }

    fn all_answered(&self, calls: &[ToolCall]) -> bool {
        calls.iter().all(|call| self.answered.contains(&call.id))
    }

    /// What open calls wait on: a person first, since only a person can be asked to hurry.
    fn waits_on(&self, calls: &[ToolCall]) -> WaitingOn {
        let open = |field: &str| {
            let steps = calls.iter().filter_map(|call| self.steps.get(&key(call)));
            steps.filter(|step| step.state == StepState::Open).any(|step| !step.value[field].is_null())
        };
        match (open("question"), open("task")) {
            (true, _) => WaitingOn::User,
            (false, true) => WaitingOn::Agent,
            (false, false) => WaitingOn::Timer,
        }
    }

    /// What the outputs of these calls told the user.
    fn told(&self, calls: &[ToolCall]) -> Option<String> {
        self.items.iter().rev().find_map(|item| match &item.body {
            ItemBody::Output(output) if calls.iter().any(|call| call.id == output.call) => {
                said(output).map(str::to_owned)
            }
            _ => None,
        })
    }
}

/// The tool that a call names, when it is on offer and the arguments fit.
fn allowed<'a>(offer: &'a Offer, call: &ToolCall) -> Result<&'a Arc<dyn Tool>, ToolError> {
    let (tool, checker) = offer.get(&call.tool).ok_or_else(|| {
        ToolError::NotAllowed(format!("there is no tool `{}`; there are: {}", call.tool, offer.names()))
    })?;
    checker.check(&call.arguments)?;
    Ok(tool)
}

/// Runs a tool within its time; a crash of the tool is an error of the call, not of the house.
async fn run_tool(
    tool: &dyn Tool,
    context: &Context,
    arguments: Value,
    seconds: u64,
) -> Result<Outcome, ToolError> {
    let called = AssertUnwindSafe(tool.call(context, arguments)).catch_unwind();
    match tokio::time::timeout(Duration::from_secs(seconds), called).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(ToolError::Failed("the tool crashed; its author must look at it".into())),
        Err(_) => Err(ToolError::Failed(format!("no result after {seconds} s; the call was cut off"))),
    }
}

/// Runs a call on a task of its own, so that one that holds up its thread holds up no other.
async fn beside_others(index: usize, call: impl Future<Output = Ran> + Send + 'static) -> Ran {
    let died = |_| (index, Err(ToolError::Failed("the call was cut off by the end of its thread".into())));
    AbortOnDropHandle::new(tokio::spawn(call)).await.unwrap_or_else(died)
}

/// What a call reads whose work goes on without it.
pub(super) fn handed_over(task: &str, worker: &str) -> String {
    format!("Task {task} was given to {worker}. Its result will come as a message.")
}

/// The key of a call's step.
pub(super) fn key(call: &ToolCall) -> String {
    call_key(call.id)
}

/// The key of the step of the call with this id.
pub(crate) fn call_key(call: CallId) -> String {
    format!("tool/{call}")
}

/// The call whose step has this key.
pub(crate) fn call_of(key: &str) -> Option<CallId> {
    key.strip_prefix("tool/")?.parse().ok()
}

pub(super) fn output(call: &ToolCall, text: impl Into<String>, error: bool) -> Output {
    Output { call: call.id, tool: call.tool.clone(), text: text.into(), error, details: None }
}
