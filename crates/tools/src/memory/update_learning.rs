//! `update_learning`: corrects a learning.

use async_trait::async_trait;
use entourage_types::{Learning, ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::learnings::{checked, keep, named};
use crate::{Caller, Context, Effect, Outcome, Result, Tool, parse, spec_of};

const NAME: &str = tool_names::UPDATE_LEARNING;

/// Changes the text of a learning of the caller.
#[derive(Debug, Clone, Copy, Default)]
pub struct UpdateLearning;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Its id in <learnings>.
    id: String,
    /// What holds instead, in one sentence.
    text: String,
}

#[async_trait]
impl Tool for UpdateLearning {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<Arguments>(NAME, "Change a learning that is not quite right any more."))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { id, text } = parse(NAME, arguments)?;
        let text = checked(NAME, &text)?;
        let before = named(context, &id).await?;
        keep(&Learning { text, updated: context.now, ..before }, "Changed")
    }
}
