//! `retire_learning`: retires a learning that no longer applies.

use async_trait::async_trait;
use entourage_types::{Learning, LearningStatus, ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::learnings::{keep, named};
use crate::{Caller, Context, Effect, Outcome, Result, Tool, parse, spec_of};

const NAME: &str = tool_names::RETIRE_LEARNING;

/// Retires a learning of the caller; its record stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct RetireLearning;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Its id in <learnings>.
    id: String,
}

#[async_trait]
impl Tool for RetireLearning {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<Arguments>(NAME, "Forget a learning that is wrong or of no more use."))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let before = named(context, &parse::<Arguments>(NAME, arguments)?.id).await?;
        let retired = Learning { status: LearningStatus::Retired, updated: context.now, ..before };
        keep(&retired, "Retired")
    }
}
