//! `emit`: a text for those who watch the run.

use async_trait::async_trait;
use entourage_types::{ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Caller, Context, Done, Effect, Outcome, Result, Tool,
    agents::{filled, undescribed},
    parse, spec_of,
};

const NAME: &str = tool_names::EMIT;

/// Reports what code does to those who watch the run; no model reads it. Only code may call it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Emit;

/// The arguments of a call, by code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = undescribed)]
struct EmitArguments {
    /// What to report.
    text: String,
}

#[async_trait]
impl Tool for Emit {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let spec = || spec_of::<EmitArguments>(NAME, "Report what the code does to those who watch it.");
        caller.by_code.then(spec)
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome> {
        let EmitArguments { text } = parse(NAME, arguments)?;
        let progress = vec![filled(NAME, "text", text)?];
        Ok(Outcome::Done(Done { progress, ..Done::default() }))
    }
}
