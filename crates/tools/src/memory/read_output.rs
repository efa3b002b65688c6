//! `read_output`: the rest of a text that was too long to show whole.

use async_trait::async_trait;
use entourage_types::{ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{Caller, Context, Effect, Error, Outcome, Result, Tool, parse, spec_of};

const NAME: &str = tool_names::READ_OUTPUT;
/// Room in the output for the text around the part.
const AROUND: usize = 200;

/// Continues reading the whole text of a message or output in the caller's own transcript.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOutput;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The number in the mark where text was left out.
    item: u64,
    /// The character to begin at; 0 is the first.
    #[serde(default)]
    from: Option<usize>,
}

#[async_trait]
impl Tool for ReadOutput {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let description = "Read what was left out of a long result or message.";
        caller.may_have_cuts.then(|| spec_of::<Arguments>(NAME, description))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { item, from } = parse(NAME, arguments)?;
        let Some(text) = context.reader.text(item).await? else {
            return Err(Error::Failed(format!("there is no result or message {item}")));
        };
        let (from, total) = (from.unwrap_or_default(), text.chars().count());
        if from >= total {
            return Err(Error::Failed(format!("{item} has {total} characters: begin before that")));
        }
        let room = context.kind.limits.max_output_chars.saturating_sub(AROUND).max(1);
        let to = total.min(from + room);
        let part: String = text.chars().skip(from).take(to - from).collect();
        let next = if to < total { format!("; go on from {to}") } else { "; that is its end".to_owned() };
        Ok(Outcome::text(format!("[{item}: characters {from} to {to} of {total}{next}]\n{part}")))
    }
}
