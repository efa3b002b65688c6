//! `reactivate_agent`: more work, or an answer, for an agent spawned before.

use std::str::FromStr;

use async_trait::async_trait;
use entourage_types::{OnEnd, ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::filled;
use crate::{Caller, Context, Delegate, Effect, Error, Outcome, Result, Target, Tool, parse, spec_of};

const NAME: &str = tool_names::REACTIVATE_AGENT;

/// Writes to an agent that the caller spawned before. An agent that has ended resumes its task, one that
/// waits for an answer gets it, and one at work reads it before its next step.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReactivateAgent;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The agent's id.
    agent: String,
    /// What it shall do now, or the user's answer to its question. It remembers its own work, and
    /// nothing of this conversation.
    message: String,
    /// The id of the question that the message answers, where several of the agent's are open.
    #[serde(default)]
    question: Option<String>,
}

#[async_trait]
impl Tool for ReactivateAgent {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let description = "Give an agent that you started more to do, or pass on the user's answer to its \
                           question. Its result arrives later as a message.";
        (!caller.peers.is_empty()).then(|| spec_of::<Arguments>(NAME, description))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, _: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { agent, message, question } = parse(NAME, arguments)?;
        let agent = id(&agent, "an agent")?;
        let question = question.filter(|id| !id.trim().is_empty());
        let question = question.map(|question| id(&question, "a question")).transpose()?;
        let text = filled(NAME, "message", message)?;
        Ok(Outcome::Delegate(Delegate { to: Target::Child { agent, question }, text, on_end: OnEnd::Wake }))
    }
}

/// Parses the id in an argument.
fn id<Id: FromStr>(given: &str, of: &str) -> Result<Id> {
    let why = || format!("`{given}` is not the id of {of}");
    given.trim().parse().map_err(|_| Error::Arguments { tool: NAME.to_owned(), why: why() })
}
