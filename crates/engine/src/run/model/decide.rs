//! A decision of the model: one step, whose checkpoint is an answer in a given form, or why there is none.

use entourage_llm::{Message, Request};
use entourage_store::Write;
use entourage_tools::schema_of;
use entourage_types::{
    AnswerFlaw, Decision, DecisionOutcome, DecisionPrompt, DecisionReads, ItemBody, StepKey, StepState,
    StopReason,
};
use futures::FutureExt;
use schemars::JsonSchema;
use serde_json::Value;

use crate::prompt::{self, RenderedDecision};
use crate::run::{
    Interrupt, Result, Run, Stop,
    model::{
        call::{Answered, Wanted},
        form::Form,
    },
};

/// The most bytes of the conversation that a decision reads; less if the model's window is small.
const LONGEST: usize = 200_000;

/// What a program wants decided.
#[derive(Debug, Clone)]
pub struct DecisionRequest {
    /// What is to be decided, and how: the system prompt.
    pub instructions: String,
    /// What the model reads.
    pub view: DecisionView,
    /// The JSON schema of the answer, which is an object. Fields that the schema neither names nor forbids are kept.
    pub schema: Value,
    /// The sampling temperature; if none is given, that of the kind.
    pub temperature: Option<f64>,
    /// How many answers the model may give. After one that does not fit the schema it reads what is wrong with it.
    pub attempts: u32,
}

/// What the model reads for a decision.
#[derive(Debug, Clone, Default)]
pub struct DecisionView {
    /// How much of the conversation.
    pub conversation: Conversation,
    /// What follows the conversation: data, and what is asked.
    pub text: String,
}

/// How much of the conversation the model reads for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Conversation {
    /// All of it with its calls and outputs, as a document in the one message.
    #[default]
    Whole,
    /// The latest messages between the agent and its counterpart, as messages.
    Latest(u32),
    /// The latest messages from before the run, as messages: what the run answers stands in the text.
    Before(u32),
    /// Nothing.
    None,
}

/// What a program wants written.
#[derive(Debug, Clone)]
pub struct TextRequest {
    /// What is to be written, and how: the system prompt.
    pub instructions: String,
    /// What the model reads.
    pub view: DecisionView,
    /// The sampling temperature; if none is given, that of the kind.
    pub temperature: Option<f64>,
    /// Who reads it while it is written.
    pub reader: Reader,
}

/// Who reads a text while it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reader {
    /// The program, once it is whole.
    #[default]
    Program,
    /// The user: the program says just this, without blanks around it.
    User,
}

impl DecisionRequest {
    /// Creates a request that shows the model the whole conversation, and allows a second answer if the first one
    /// does not fit the schema.
    #[must_use]
    pub fn new(instructions: impl Into<String>, schema: Value) -> Self {
        let view = DecisionView::default();
        Self { instructions: instructions.into(), view, schema, temperature: None, attempts: 2 }
    }

    /// The same, for an answer of this type.
    #[must_use]
    pub fn of<T: JsonSchema>(instructions: impl Into<String>) -> Self {
        Self::new(instructions, schema_of::<T>())
    }
}

/// Why there is no decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the decision `{name}` failed: {why}")]
pub struct DecisionFailed {
    /// The name of the decision, with its phase.
    pub name: String,
    /// Why, in words for people: the last answer did not fit the schema, no model could answer, or a limit was reached.
    pub why: String,
    /// The same for logs and programs, where it says more: it names models, addresses and accounts.
    pub cause: Option<String>,
    /// What was wrong with the model's last answer, if there was one and it was of no use.
    pub flaw: Option<AnswerFlaw>,
}

/// Ends the run of a program that cannot go on without the decision.
impl From<DecisionFailed> for Interrupt {
    fn from(failed: DecisionFailed) -> Self {
        let text = failed.to_string();
        let cause = match failed.cause {
            Some(why) => DecisionFailed { why, cause: None, ..failed }.to_string(),
            None => text.clone(),
        };
        Self::Stopped(Stop { text, ..Stop::new(StopReason::ModelFailed, cause) })
    }
}

/// A request for a decision, and its size in bytes.
pub(in crate::run) struct Prompt {
    pub(in crate::run) request: Request,
    pub(in crate::run) reader: Reader,
    /// Whether an answer of no use is followed by a request for another one.
    pub(in crate::run) asks_again: bool,
    pub(in crate::run) weight: usize,
}

impl Run<'_> {
    /// Asks the model for a decision, once: after a crash the decision is read back. `name` is the program's own, and
    /// used once in a run. A decision is no turn: it does not count towards `max_steps`, and the model reads none of it
    /// later.
    ///
    /// The inner result is the decision, or why there is none: the program may go on without it.
    ///
    /// # Errors
    /// An [`Interrupt`] when the call is to be tried again later, the agent is paused or stopped, or the schema is
    /// no valid JSON schema.
    pub async fn decide(
        &mut self,
        name: &str,
        request: DecisionRequest,
    ) -> Result<Result<Value, DecisionFailed>> {
        self.decide_for(Reader::Program, name, request).await
    }

    async fn decide_for(
        &mut self,
        reader: Reader,
        name: &str,
        request: DecisionRequest,
    ) -> Result<Result<Value, DecisionFailed>> {
        let key = StepKey::Decision(self.steps.named(name));
        let own = key.clone();
        let decision = self.step(key, |run| run.ask_for_decision(own, request, reader).boxed()).await?;
        Ok(match decision.outcome {
            DecisionOutcome::Value(value) => Ok(value),
            DecisionOutcome::Refused { why, .. } | DecisionOutcome::Failed(why) => {
                Err(DecisionFailed { name: decision.name, why, cause: decision.cause, flaw: decision.flaw })
            }
        })
    }

    /// Asks the model for a text, once, as [`decide`](Self::decide) asks for a decision: for a text that is no turn of
    /// the conversation.
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    pub async fn write(
        &mut self,
        name: &str,
        request: TextRequest,
    ) -> Result<Result<String, DecisionFailed>> {
        let TextRequest { instructions, view, temperature, reader } = request;
        let request = DecisionRequest { instructions, view, schema: Value::Null, temperature, attempts: 1 };
        Ok(self.decide_for(reader, name, request).await?.map(|text| match text {
            Value::String(text) => text,
            other => other.to_string(),
        }))
    }

    async fn ask_for_decision(
        &mut self,
        key: StepKey,
        wanted: DecisionRequest,
        reader: Reader,
    ) -> Result<(Decision, u32)> {
        let name = key.name().unwrap_or_default().to_owned();
        let form = Form::new(&wanted.schema)
            .map_err(|error| Interrupt::failed(format!("the decision `{name}` cannot be made: {error}")))?;
        self.ready_for_step().await?;
        if let Some(met) = self.has_no_room() {
            return Ok((failed(name, met, None), 1));
        }
        let attempts = wanted.attempts;
        let recorded = self.recorded(wanted);
        let mut request = Prompt { reader, asks_again: attempts > 1, ..self.prompt_of(&name, &recorded) };
        let (items, run) = (self.items(), self.record.id);
        let mut given = u32::try_from(prompt::refused(items, run, &name).count()).unwrap_or(u32::MAX);
        // On record once, with the first answer.
        let before = prompt::refused(items, run, &name).rev().find_map(|refused| refused.prompt.as_deref());
        let mut recorded = (before != Some(&recorded)).then(|| Box::new(recorded));
        let mut tries = 0;
        loop {
            let (reply, made, asked) = match self.ask_model(&key, &Wanted::Decision(&request)).await {
                Ok(Answered { reply, attempts, asked }) => (reply, attempts, asked),
                Err(Interrupt::Stopped(stop))
                    if matches!(stop.reason, StopReason::ModelFailed | StopReason::EmptyResponse) =>
                {
                    let flaw = stop.flaw;
                    let decision = failed(name, stop.text, Some(stop.cause));
                    return Ok((Decision { flaw, ..decision }, tries.max(1)));
                }
                Err(interrupt) => return Err(interrupt),
            };
            (tries, given) = (tries + made, given + 1);
            let at = self.engine.now();
            self.count(&reply.used(), at);
            let (outcome, why) = match form.read(&reply.text) {
                Ok(value) => (DecisionOutcome::Value(value), None),
                Err(why) if given >= attempts => {
                    (DecisionOutcome::Failed(format!("the answer is not valid: {why}")), None)
                }
                Err(why) => {
                    let answer = reply.text.clone();
                    (DecisionOutcome::Refused { answer, why: why.clone() }, Some(why))
                }
            };
            let (used, asked) = (Some(reply.used()), Some(Box::new(asked)));
            let (name, prompt) = (name.clone(), recorded.take());
            let decision = Decision { name, outcome, used, asked, prompt, cause: None, flaw: None };
            let Some(why) = why else { return Ok((decision, tries)) };
            tracing::warn!(decision = decision.name, why, "a decision does not fit its schema; asking again");
            request.refuse(reply.text, &why);
            // On record before the model is asked again: a crash repeats no answer that is paid for.
            let item = self.append(ItemBody::Decision(decision), at);
            self.batch.push(item);
            // The next answer has attempts of its own.
            let failed_before = self.steps.get(&key).is_some();
            let begun = failed_before.then(|| self.steps.row(key.clone(), StepState::Started, at));
            self.batch.extend(begun.map(Write::Step));
        }
    }

    /// Returns the limit of tokens, money or time that leaves no room for a decision, in words.
    fn has_no_room(&self) -> Option<String> {
        let seconds = self.kind.limits.max_seconds;
        let is_over = || self.limits().time_left().is_zero();
        let spent = self.limits().overspent().map(|(_, met)| met);
        spent.or_else(|| is_over().then(|| format!("the run reached its limit of {seconds} seconds of work")))
    }

    /// Returns what the program wants decided, with how much of the conversation the model has room for.
    fn recorded(&self, wanted: DecisionRequest) -> DecisionPrompt {
        let DecisionRequest { instructions, view, schema, temperature, attempts: _ } = wanted;
        let window = self.engine.model().profile(self.kind.model.as_deref()).context_window;
        // Half of a window, at four bytes a token.
        let most = window.map_or(LONGEST, |window| LONGEST.min(window as usize * 2));
        let conversation = match view.conversation {
            Conversation::Whole => DecisionReads::Whole(most),
            Conversation::Latest(number) => DecisionReads::Latest(number),
            Conversation::Before(number) => DecisionReads::Before(number),
            Conversation::None => DecisionReads::Nothing,
        };
        DecisionPrompt { instructions, schema, temperature, conversation, text: view.text }
    }

    fn prompt_of(&self, name: &str, prompt: &DecisionPrompt) -> Prompt {
        let rendered = RenderedDecision {
            kind: &self.kind,
            model: self.kind.model.clone(),
            prompt,
            items: self.items(),
            run: self.record.id,
            name,
            max_tokens: None,
        };
        let request = rendered.request();
        Prompt { weight: weight(&request), request, reader: Reader::Program, asks_again: true }
    }
}

impl Prompt {
    /// Adds an answer that does not fit, and what is wrong with it.
    fn refuse(&mut self, answer: String, why: &str) {
        prompt::refuse(&mut self.request.messages, answer, why);
        self.weight = weight(&self.request);
    }
}

/// The size of what a request for one answer has the model read, in bytes.
pub(in crate::run) fn weight(request: &Request) -> usize {
    let messages = request.messages.iter().map(|message| match message {
        Message::User(text) | Message::Notice(text) | Message::Context(text) => text.len(),
        Message::Assistant { text, .. } | Message::Output { text, .. } => text.len(),
    });
    request.system.len() + messages.sum::<usize>()
}

/// Returns a decision that no model has answered.
fn failed(name: String, why: String, cause: Option<String>) -> Decision {
    let outcome = DecisionOutcome::Failed(why);
    Decision { name, outcome, used: None, asked: None, prompt: None, cause, flaw: None }
}
