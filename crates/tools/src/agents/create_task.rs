//! `create_task`: a task that an agent of its own works on, while the caller goes on.

use async_trait::async_trait;
use entourage_types::{ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::filled;
use crate::{Caller, Context, Delegate, Effect, Error, Outcome, Result, Target, Tool, parse, spec_of};

const NAME: &str = tool_names::CREATE_TASK;

/// Creates a task (S4): a new agent of the caller's first peer begins to work on it at once. What its end does to the
/// caller is said by the caller's kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct CreateTask;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The task in a few words.
    title: String,
    /// What is to be done, with everything that must be known for it: whoever works on it sees the goal, and nothing of
    /// this conversation.
    instructions: String,
}

#[async_trait]
impl Tool for CreateTask {
    fn name(&self) -> &str {
        NAME
    }

    fn offer(&self, caller: &Caller<'_>) -> Option<ToolSpec> {
        let is_listed = caller.kind.tools.iter().flatten().any(|tool| tool == NAME);
        if !is_listed || caller.peers.is_empty() {
            return None;
        }
        let description = "Create a task that is worked on in the background, beginning now. You go on at once; the task, \
                           and later what it came to, stands in <tasks>.";
        Some(spec_of::<Arguments>(NAME, description))
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn source(&self) -> ResultSource {
        ResultSource::Agents
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome> {
        let Arguments { title, instructions } = parse(NAME, arguments)?;
        let title = filled(NAME, "title", title)?;
        let text = filled(NAME, "instructions", instructions)?;
        let Some(kind) = context.kind.peers.first().cloned() else {
            return Err(Error::NotAllowed("you cannot create tasks".to_owned()));
        };
        let on_end = context.kind.on_task_end.into();
        Ok(Outcome::Delegate(Delegate { to: Target::New { kind, title }, text, on_end }))
    }
}
