//! `fork`: a new agent whose result code waits for.

use async_trait::async_trait;
use entourage_types::{OnEnd, ResultSource, ToolSpec, title_of, tool_names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    Caller, Context, Delegate, Effect, Error, Outcome, Result, Target, Tool,
    agents::{filled, undescribed},
    parse, spec_of,
};

const NAME: &str = tool_names::FORK;

/// Starts an agent for code; the result is the output of the call (S3-R065, S3-R066). Only code may call it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fork;

/// The arguments of a call, by code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = undescribed)]
pub struct ForkArguments {
    /// What the agent shall do, with everything it must know.
    pub prompt: String,
    /// The kind of agent; the caller's own if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

#[async_trait]
impl Tool for Fork {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        if !caller.by_code {
            return None;
        }
        let mut spec = spec_of::<ForkArguments>(NAME, "Start an agent and go on; `wait` returns its result.");
        let known = caller.peers.iter().map(|kind| kind.name.as_str()).chain([caller.kind.name.as_str()]);
        let known: Vec<Value> = known.map(|name| json!(name)).chain([Value::Null]).collect();
        spec.parameters["properties"]["kind"]["enum"] = known.into();
        Some(spec)
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let ForkArguments { prompt, kind } = parse(NAME, arguments)?;
        let text = filled(NAME, "prompt", prompt)?;
        let title = title_of(&text);
        let to = match kind.filter(|kind| *kind != context.kind.name) {
            None => Target::Same { title },
            Some(kind) if context.kind.peers.contains(&kind) => Target::New { kind, title },
            Some(kind) => {
                let known = context.kind.peers.join(", ");
                return Err(Error::NotAllowed(format!(
                    "you cannot start `{kind}`. Kinds you can start: {known}"
                )));
            }
        };
        Ok(Outcome::Delegate(Delegate { to, text, on_end: OnEnd::Answer }))
    }
}
