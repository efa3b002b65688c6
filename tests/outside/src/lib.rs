//! A custom model, tools, a store layer and a guardrail, with `entourage` as the only dependency.

pub mod habits;
pub mod pages;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use entourage::{
    Model, Store, SystemClock, Tool,
    agency::{Agency, Agent, Guardrail, Json, function_tool},
    async_trait,
    models::{self, Delta, Deltas, Message, Reply, Request},
    schemars::{self, JsonSchema},
    serde::Deserialize,
    serde_json::{Value, json},
    store::{self, Commit, Committed, Layered, StoreLayer},
    tools::{self, Caller, Context, Effect, Outcome, parse, spec_of},
    types::{CallId, ToolCall, ToolSpec, Usage},
};

/// Types of other crates that appear in its signatures: of a store, a context and settings.
pub use entourage::{CancellationToken, SecretString, broadcast};

/// A model that requests each message in capitals, has its words counted, and answers with their
/// number.
pub struct Counter;

#[async_trait]
impl Model for Counter {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> models::Result<Reply> {
        let call = |tool: &str, text: &str| ToolCall {
            id: CallId::new(),
            tool: tool.into(),
            arguments: json!({ "text": text }),
        };
        let (text, calls) = match request.messages.last() {
            Some(Message::User(text)) => (String::new(), vec![call("shout", text)]),
            Some(Message::Output { tool, text, .. }) if tool == "shout" => {
                (String::new(), vec![call("count_words", text)])
            }
            Some(Message::Output { text, .. }) => (format!("{text} words"), Vec::new()),
            _ => {
                let (model, what) = (self.describe(), "not asked for".into());
                return Err(models::Error::BadAnswer { model, what });
            }
        };
        deltas.delta(Delta::Text(text.clone()));
        Ok(Reply { text, calls, model: self.describe(), usage: Usage::default(), cost: None })
    }

    fn describe(&self) -> String {
        "counter".into()
    }
}

/// The arguments of both tools.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "entourage::serde")]
pub struct Text {
    /// The text.
    text: String,
}

/// A tool in full.
pub struct Shout;

#[async_trait]
impl Tool for Shout {
    fn name(&self) -> &str {
        "shout"
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<Text>("shout", "Writes a text in capitals."))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn call(&self, _: &Context, arguments: Value) -> tools::Result<Outcome> {
        let Text { text } = parse("shout", arguments)?;
        match text.as_str() {
            "" => Err(tools::Error::Failed("there is nothing to shout".into())),
            text => Ok(Outcome::text(text.to_uppercase())),
        }
    }
}

/// A tool from a function.
async fn count_words(_: Context, Text { text }: Text) -> Json<usize> {
    Json(text.split_whitespace().count())
}

/// A layer over a store: it counts the commits.
#[derive(Clone, Default)]
pub struct Commits(pub Arc<AtomicUsize>);

#[async_trait]
impl StoreLayer for Commits {
    async fn commit(&self, store: &Arc<dyn Store>, commit: Commit) -> store::Result<Committed> {
        self.0.fetch_add(1, Ordering::Relaxed);
        store.commit(commit).await
    }
}

/// An agent with the model, the tools and a guardrail.
pub fn counter() -> entourage::Result<Agent> {
    let short = Guardrail::new("short", |checked| async move {
        if checked.text.len() < 100 { Ok(()) } else { Err("use fewer words") }
    });
    let agent = Agent::builder("Counter")
        .instructions("Count.")
        .model(Arc::new(Counter))
        .tool(Shout)
        .tool(function_tool("count_words", "Counts the words of a text.", count_words).pure())
        .input_guardrail(short)
        .build()?;
    Ok(agent)
}

/// An agency of this agent alone, and the layer that counts the commits.
pub async fn open(store: Arc<dyn Store>) -> entourage::Result<(Agency, Commits)> {
    let agent = counter()?;
    let commits = Commits::default();
    let agency = Agency::new([&agent], [])
        .model(Arc::new(Counter))
        .store(Arc::new(Layered::new(store, commits.clone())))
        .clock(Arc::new(SystemClock))
        .open()
        .await?;
    Ok((agency, commits))
}
