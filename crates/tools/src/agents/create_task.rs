//! `create_task`: a task that an agent of its own works on, while the caller goes on.

use async_trait::async_trait;
use entourage_types::{CreatedTasks, ResultSource, ToolSpec, tool_names};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::filled;
use crate::{Caller, Context, Delegate, Effect, Error, Outcome, Result, Target, Tool, parse, spec_of};

const NAME: &str = tool_names::CREATE_TASK;

/// Creates a task (S4): a new agent begins to work on it at once. The caller's kind says of which kind that is, and what
/// the end of the task does.
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
        caller.kind.tasks.as_ref()?;
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
        let Some(CreatedTasks { kind, on_end }) = context.kind.tasks.clone() else {
            return Err(Error::NotAllowed("you cannot create tasks".to_owned()));
        };
        Ok(Outcome::Delegate(Delegate { to: Target::New { kind, title }, text, on_end: on_end.into() }))
    }
}
