//! `final_answer`: ends the work by a call.

use async_trait::async_trait;
use entourage_types::{ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::filled;
use crate::{Caller, Context, Done, Effect, Outcome, Result, Tool, parse, spec_of};

const NAME: &str = tool_names::FINAL_ANSWER;

/// Ends the run with an answer, once all calls of the turn are answered. Offered only to kinds that list it
/// by name: a turn without calls does the same.
#[derive(Debug, Clone, Copy, Default)]
pub struct FinalAnswer;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The whole answer, with its sources.
    answer: String,
}

#[async_trait]
impl Tool for FinalAnswer {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let listed = caller.kind.tools.iter().flatten().any(|tool| tool == NAME);
        listed.then(|| spec_of::<Arguments>(NAME, "End the work with its answer."))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn answers(&self) -> bool {
        true
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { answer } = parse(NAME, arguments)?;
        let answer = filled(NAME, "answer", answer)?;
        Ok(Outcome::Done(Done { text: "answered".to_owned(), answer: Some(answer), ..Done::default() }))
    }
}
