//! A model that answers as a test scripts it, and records its requests.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use entourage_types::{CallId, Cost, ModelUse, ToolCall, Usage};
use serde_json::Value;

use crate::{Delta, Deltas, Error, KnownFrom, Model, Price, Profile, Reply, Request, Result};

type Decide = dyn Fn(&Request) -> Option<Result<Script>> + Send + Sync;

/// A model for tests: scripted answers in order, or a function from request to answer.
///
/// ```
/// use entourage_llm::{Model, NoDeltas, Request, Script, ScriptedModel};
/// # futures::executor::block_on(async {
/// let model = ScriptedModel::new([
///     Script::call("web_search", serde_json::json!({"query": "durable agents"})),
///     Script::text("Found it."),
/// ]);
/// let first = model.call(Request::default(), &mut NoDeltas).await?;
/// assert_eq!(first.calls[0].tool, "web_search");
/// let second = model.call(Request::default(), &mut NoDeltas).await?;
/// assert_eq!(second.text, "Found it.");
/// assert_eq!(model.requests().len(), 2);
/// # Ok::<(), entourage_llm::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct ScriptedModel {
    state: Arc<Mutex<State>>,
    decide: Option<Arc<Decide>>,
    price: Option<Price>,
    window: Option<u32>,
    summary: Option<String>,
}

/// The window of a scripted model, in tokens, unless a test sets another.
const WINDOW: u32 = 128_000;

#[derive(Default)]
struct State {
    script: VecDeque<Result<Script>>,
    requests: Vec<Request>,
}

/// One scripted answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    text: String,
    calls: Vec<(String, Value)>,
    usage: Usage,
    unusable: bool,
}

impl Script {
    /// Creates an answer with this text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            usage: Usage { input: 10, output: 5, ..Usage::default() },
            ..Self::default()
        }
    }

    /// Creates an answer that calls one tool.
    #[must_use]
    pub fn call(tool: impl Into<String>, arguments: Value) -> Self {
        Self::text("").and_call(tool, arguments)
    }

    /// Adds a call to the answer.
    #[must_use]
    pub fn and_call(mut self, tool: impl Into<String>, arguments: Value) -> Self {
        self.calls.push((tool.into(), arguments));
        self
    }

    /// Sets the answer's usage; the default is 10 tokens in, 5 out.
    #[must_use]
    pub fn using(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Makes the answer a truncated one: it has usage, and the call fails.
    #[must_use]
    pub fn cut_off(self) -> Self {
        Self { unusable: true, ..self }
    }
}

impl ScriptedModel {
    /// Creates a model that gives these answers in order, and then fails with an error.
    #[must_use]
    pub fn new(script: impl IntoIterator<Item = Script>) -> Self {
        let state = State { script: script.into_iter().map(Ok).collect(), ..State::default() };
        Self {
            state: Arc::new(Mutex::new(state)),
            decide: None,
            price: None,
            window: Some(WINDOW),
            summary: None,
        }
    }

    /// Creates a model that answers by a function of the request; if the function returns none, the script
    /// continues.
    #[must_use]
    pub fn deciding(decide: impl Fn(&Request) -> Option<Result<Script>> + Send + Sync + 'static) -> Self {
        Self { decide: Some(Arc::new(decide)), ..Self::new([]) }
    }

    /// Sets the model's price; without it the price is unknown.
    #[must_use]
    pub fn priced(self, price: Price) -> Self {
        Self { price: Some(price), ..self }
    }

    /// Sets the model's window, in tokens.
    #[must_use]
    pub fn with_window(self, window: u32) -> Self {
        Self { window: Some(window), ..self }
    }

    /// Makes the model's window unknown.
    #[must_use]
    pub fn without_window(self) -> Self {
        Self { window: None, ..self }
    }

    /// Names another model for summaries.
    #[must_use]
    pub fn with_summary(self, model: &str) -> Self {
        Self { summary: Some(model.to_owned()), ..self }
    }

    /// Appends an answer, or an error, to the script.
    pub fn push(&self, answer: Result<Script>) {
        self.lock().script.push_back(answer);
    }

    /// Takes the script's next answer, for a function that follows a script of its own.
    #[must_use]
    pub fn next_answer(&self) -> Option<Result<Script>> {
        self.lock().script.pop_front()
    }

    /// Returns the requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Model for ScriptedModel {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let decided = self.decide.as_ref().and_then(|decide| decide(&request));
        let answer = {
            let mut state = self.lock();
            state.requests.push(request);
            decided.or_else(|| state.script.pop_front())
        };
        let script = answer.unwrap_or_else(|| {
            Err(Error::Refused { model: "scripted".into(), cause: "the script has no further answer".into() })
        })?;
        let model = "scripted::script".to_owned();
        let cost = self.price(None, &script.usage);
        if script.unusable {
            deltas.delta(Delta::DiscardedUsage(ModelUse { model: model.clone(), usage: script.usage, cost }));
            return Err(Error::BadAnswer { model, what: "cut off".into() });
        }
        if !script.text.is_empty() {
            deltas.delta(Delta::Text(script.text.clone()));
        }
        let calls = script
            .calls
            .into_iter()
            .map(|(tool, arguments)| {
                deltas.delta(Delta::Call { tool: tool.clone() });
                ToolCall { id: CallId::new(), tool, arguments }
            })
            .collect();
        Ok(Reply { text: script.text, calls, model, usage: script.usage, cost })
    }

    fn price(&self, _: Option<&str>, usage: &Usage) -> Option<Cost> {
        self.price?.of(usage)
    }

    fn summary(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    fn profile(&self, _: Option<&str>) -> Profile {
        Profile { native_tools: true, context_window: self.window, window_from: KnownFrom::Settings }
    }

    fn describe(&self) -> String {
        "scripted: answers from a script, for tests".into()
    }
}
