//! A tool that counts its effects, so that a test can verify how many times an effect happened.

use std::collections::BTreeMap;

use async_trait::async_trait;
use entourage_tools::{Caller, Context, Effect, Error, Outcome, Tool};
use entourage_types::{CallId, ToolSpec};
use serde_json::{Value, json};

use entourage_testkit::{Fact, Witness};

/// The effects that a witness records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effects(Witness);

impl Effects {
    /// The effects that this witness records.
    #[must_use]
    pub(crate) fn seen_by(witness: &Witness) -> Self {
        Self(witness.clone())
    }

    /// How many times each call's effect happened.
    #[must_use]
    pub(crate) fn per_call(&self) -> Vec<u32> {
        let mut times: BTreeMap<CallId, u32> = BTreeMap::new();
        for fact in self.0.facts() {
            if let Fact::Effect { call, .. } = fact {
                *times.entry(call).or_default() += 1;
            }
        }
        times.into_values().collect()
    }

    /// Records that a tool is about to have its effect.
    pub(crate) fn happens(&self, context: &Context, effect: Effect) {
        self.0.record(Fact::Effect { agent: context.agent, call: context.call, effect });
    }
}

type Answer = dyn Fn(&Context, &Value) -> Result<Outcome, Error> + Send + Sync;

/// A tool of any name and effect class, with the answer that a test sets.
pub(crate) struct TestTool {
    name: String,
    effect: Effect,
    effects: Effects,
    answer: Box<Answer>,
}

impl TestTool {
    /// Creates a tool that answers with its own name and the arguments.
    #[must_use]
    pub(crate) fn new(name: &str, effect: Effect, effects: &Effects) -> Self {
        let own = name.to_owned();
        Self::answering(name, effect, effects, move |_, arguments| {
            Ok(Outcome::text(format!("{own}: {arguments}")))
        })
    }

    /// Creates a tool that answers with the test's function.
    #[must_use]
    pub(crate) fn answering(
        name: &str,
        effect: Effect,
        effects: &Effects,
        answer: impl Fn(&Context, &Value) -> Result<Outcome, Error> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), effect, effects: effects.clone(), answer: Box::new(answer) }
    }
}

#[async_trait]
impl Tool for TestTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(ToolSpec::new(
            self.name.clone(),
            "A tool for tests.",
            json!({
                "type": "object",
                "properties": { "n": { "type": "integer" } },
                "additionalProperties": false
            }),
        ))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome, Error> {
        self.effects.happens(context, self.effect);
        (self.answer)(context, &arguments)
    }
}
